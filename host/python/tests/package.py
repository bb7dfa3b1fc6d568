"""Tests of the package with the standard library alone; those of data frames and type checkers where these are installed."""

import ast
import contextlib
import importlib.util
import io
import json
import multiprocessing
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import loadline
from loadline import _loadline

PLAN = """schema = 1
name = "two depths"
[[load]]
pattern = "random"
block = "8 KiB"
queue_depth = [1, 32]
warm_up = "0 s"
duration = "2 s"
trials = 2
"""
ENVIRONMENT = """schema = 1
name = "small"
[[volume.data.disks]]
size = "1 GiB"
limit = { iops = "2000 IOPS" }
[volume.data.disks.latency.read]
median = "100 us"
p99 = "200 us"
"""


# OpenMPI 4 and 5 want to hear twice that root may run it.
ROOT_OF_MPI = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM")


MISSED = set()


def has(module):
    found = importlib.util.find_spec(module) is not None
    if not found and module not in MISSED:
        MISSED.add(module)
        print(f"skipped: {module} on the package's tables (it is not installed)", file=sys.stderr)
    return found


def predicted(**options):
    return loadline.predict(loadline.Plan(PLAN), loadline.Environment(ENVIRONMENT), seed=1, draws=1, **options)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = predicted()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def command(self, *words, status=0):
        done = subprocess.run([sys.executable, "-m", "loadline", *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def test_a_prediction_has_the_figures_that_the_limit_gives(self):
        cells = self.run_.cells
        self.assertEqual(len(cells), 2)
        self.assertEqual(cells["queue_depth_requests_per_thread"], [1, 32])
        deep = cells["total_iops"][1]
        self.assertAlmostEqual(deep, 2000, delta=20)
        self.assertEqual(cells["binding_limit"][1], "disk-iops")
        self.assertEqual((self.run_.clock, self.run_.status, self.run_.verb), ("virtual", "finished", "predict"))
        self.assertIn("2,000", str(self.run_))

    def test_json_is_that_of_the_command_byte_for_byte(self):
        store = self.path("runs.db")
        run = predicted(store=store)
        self.assertEqual(self.command("--store", store, "show", run.id, "--format", "json"), run.json())
        self.assertEqual(json.loads(run.json()), run.to_dict())
        self.assertEqual(loadline.Store(store)["last"].json(), run.json())
        # Apart from when they were made and by which random id, the same call gives the same run.
        first, second = ({**one.to_dict(), "run": None} for one in (run, self.run_))
        again = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
        self.assertEqual(again.sub("", json.dumps(first)), again.sub("", json.dumps(second)))

    def test_a_table_has_typed_columns_and_none_for_what_is_missing(self):
        trials = self.run_.trials
        rows = trials.to_dicts()
        self.assertEqual(len(rows), len(trials))
        self.assertEqual(rows[0]["block_bytes"], 8192)
        self.assertIsNone(rows[0]["write_iops"])
        self.assertIsNone(rows[0]["offered_iops"])
        self.assertEqual(rows[0]["run_started"].isoformat().replace("+00:00", "Z"), self.run_.started)
        self.assertIn("read_latency_p99_ns", trials)
        self.assertNotIn("nothing", trials)
        with self.assertRaises(KeyError):
            trials["nothing"]
        seconds = self.run_.seconds
        self.assertEqual(sum(seconds["requests_count"]), sum(trials["read_requests_count"]))

    def test_arrows_capsules_have_their_names_and_are_freed_unread(self):
        for table in (self.run_.cells, self.run_.seconds):
            self.assertIn('"arrow_schema"', repr(table.__arrow_c_schema__()))
            self.assertIn('"arrow_array_stream"', repr(table.__arrow_c_stream__()))
            for _ in range(50):
                table.__arrow_c_stream__(None)

    def test_polars_pandas_pyarrow_and_duckdb_read_the_same_rows(self):
        for table in (self.run_.cells, self.run_.trials, self.run_.seconds):
            wanted = table.to_dicts()
            if has("polars"):
                frame = table.to_polars()
                self.assertEqual(frame.to_dicts(), wanted)
            if has("pyarrow"):
                self.assertEqual(table.to_arrow().to_pylist(), wanted)
            if has("pandas"):
                frame = table.to_pandas()
                self.assertEqual(list(frame.columns), table.columns)
                self.assertEqual(frame["block_bytes"].tolist(), table["block_bytes"])
            if has("duckdb"):
                import duckdb

                found = duckdb.from_arrow(table).aggregate("count(*), sum(block_bytes), min(label::VARCHAR)").fetchall()[0]
                self.assertEqual(found, (len(wanted), sum(table["block_bytes"]), min(table["label"])))

    def test_runs_tables_and_documents_survive_pickle(self):
        comparison = loadline.compare(self.run_, predicted())
        advice = loadline.advise(iops=2000, size="200 GiB", limits_only=True, rows=2)
        things = [self.run_, self.run_.cells, self.run_.seconds, comparison, advice, loadline.Plan(PLAN)]
        for thing in things:
            again = pickle.loads(pickle.dumps(thing))
            self.assertEqual(again, thing)
        self.assertEqual(hash(pickle.loads(pickle.dumps(self.run_))), hash(self.run_))
        self.assertEqual(advice.json(), pickle.loads(pickle.dumps(advice)).json())

    def test_a_run_is_saved_and_read_and_kept_in_stores(self):
        path = self.path("run.json")
        self.run_.save(path)
        self.assertEqual(loadline.read(path), self.run_)
        store = self.path("runs.db")
        first, second = predicted(store=store), predicted(store=store)
        store = loadline.read(store)
        self.assertEqual(sorted(store.runs()), sorted([first.id, second.id]))
        self.assertEqual(len(store.cells()), 4)
        self.assertEqual(len(store.trials([first.id])), 4)
        self.assertEqual(set(store.seconds()["run_id"]), {first.id, second.id})

    def test_results_of_other_tools_are_read(self):
        store = self.path("runs.db")
        run = predicted(store=store)
        self.command("--store", store, "export", run.id, "--as", "fio", "-o", self.path("fio.json"))
        read = loadline.read(self.path("fio.json"))
        self.assertEqual((read.verb, len(read.trials)), ("import", len(run.trials)))
        self.assertAlmostEqual(sum(read.trials["read_iops"]), sum(run.trials["read_iops"]), delta=20)

    def test_a_comparison_says_what_the_command_says(self):
        other = loadline.Environment(ENVIRONMENT.replace("2000 IOPS", "1000 IOPS"))
        worse = loadline.predict(loadline.Plan(PLAN), other, seed=1, draws=1)
        self.assertEqual(loadline.compare(self.run_, worse).verdict, "worse")
        self.assertIn("worse", str(loadline.compare(self.run_, worse)))

    def test_advice_is_ranked_by_price(self):
        advice = loadline.advise(iops=3000, reads="70 %", block="8 KiB", size="500 GiB", provider="azure", limits_only=True)
        prices = [row["price_month"]["amount"] for row in advice.candidates if row["meets"]]
        self.assertTrue(prices and prices == sorted(prices))
        self.assertIn("loadline.advice/1", advice.json())

    def test_an_emulated_disk_is_there_within_its_block(self):
        disk = loadline.emulate(loadline.Environment(ENVIRONMENT), seed=1, memory_bytes=64 << 20)
        with self.assertRaises(loadline.Error):
            disk.uri()
        with disk as served:
            socket = served.socket
            run = loadline.run(
                loadline.Plan(PLAN), on=served.uri(), store=self.path("runs.db"), read_only=True, duration="300 ms", trials=1, size="16 MiB"
            )
        self.assertEqual(run.clock, "real")
        self.assertGreater(sum(disk.run.trials["read_requests_count"]), 0)
        self.assertFalse(os.path.exists(socket))

    def test_refusals_are_exceptions_with_the_sentence_of_the_command(self):
        with self.assertRaisesRegex(loadline.Refused, "no such environment|no environment|there is no"):
            loadline.predict(loadline.Plan(PLAN), "nothing-like-it")
        with self.assertRaisesRegex(loadline.Refused, "--trial"):
            predicted(trial=1)
        with self.assertRaises(loadline.Refused):
            loadline.predict(loadline.Plan(PLAN.replace("8 KiB", "8 apples")), "ds3-p30")
        with self.assertRaises(loadline.Refused):
            loadline.read(self.path("nothing.json"))
        with self.assertRaises(loadline.Refused):
            loadline.Store(self.path("nothing.db"))
        with self.assertRaises(loadline.Refused):
            loadline.run(loadline.Plan(PLAN), on=self.path("no/such/folder"), store=self.path("runs.db"))
        self.assertTrue(issubclass(loadline.Refused, loadline.Error) and issubclass(loadline.Error, Exception))

    def test_an_interrupt_ends_a_prediction_that_would_take_minutes(self):
        # A shell starts what runs in its background with interrupts ignored, and Python leaves it at that.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            loadline.predict(loadline.Plan(PLAN), loadline.Environment(ENVIRONMENT), duration="100000 s", trials=20)
        self.assertLess(time.monotonic() - began, 60)

    def test_other_threads_run_meanwhile(self):
        ticks = []
        stop = threading.Event()

        def tick():
            while not stop.wait(0.001):
                ticks.append(1)

        thread = threading.Thread(target=tick)
        thread.start()
        predicted(duration="200 s")
        stop.set()
        thread.join()
        self.assertGreater(len(ticks), 2)

    def test_a_forked_process_is_refused_and_a_spawned_one_is_not(self):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                predicted()
                said = "nothing was refused"
            except loadline.Forked as error:
                said = str(error)
            except BaseException as error:
                said = repr(error)
            os.write(write, said.encode())
            os._exit(0)
        os.waitpid(child, 0)
        self.assertIn('get_context("spawn")', os.read(read, 10_000).decode())
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(len(pool.apply(cells_of, (self.run_,))), 2)

    def test_a_sweep_is_one_table_whatever_threads_and_parts(self):
        environments = [loadline.Environment(ENVIRONMENT.replace("2000", str(1000 + 100 * of)), f"e{of}") for of in range(7)]
        plan = loadline.Plan(PLAN)
        for method in ({"limits_only": True}, {"table": True, "draws": 1}):
            whole = loadline.predict_many(environments, plan, threads=1, **method)
            self.assertEqual(len(whole), 14)
            self.assertEqual(whole["environment"][::2], [of.name for of in environments])
            self.assertAlmostEqual(whole["iops"][1], 1000, delta=20)
            parts = [loadline.predict_many(environments, plan, part=f"{of}/3", threads=2, **method) for of in (1, 2, 3)]
            self.assertEqual(loadline.join(pickle.loads(pickle.dumps(parts))), whole)
        run = loadline.predict_many(environments[:1], plan, draws=1, seed=1)[0]
        self.assertEqual(run.verb, "predict")
        self.assertEqual(len(loadline.join([])), 0)

    def test_a_broken_environment_and_a_broken_need_are_rows_with_a_problem(self):
        table = loadline.predict_many([loadline.Environment("schema = 1", "broken"), loadline.Environment(ENVIRONMENT)], loadline.Plan(PLAN), limits_only=True)
        self.assertEqual([of is None for of in table["problem"]], [False, True, True])
        need = loadline.Need('schema = 1\niops = "900 IOPS"\nsize = "200 GiB"\nplace = { providers = ["azure"] }\n', "orders")
        advised = loadline.advise_many([need, loadline.Need("", "empty")], limits_only=True, rows=2)
        self.assertEqual(advised["need"], ["orders", "orders", "empty"])
        alone = loadline.advise(iops=900, size="200 GiB", provider="azure", limits_only=True, rows=2)
        self.assertEqual(advised["price_month_amount"][0], alone.candidates[0]["price_month"]["amount"])
        self.assertIsNotNone(advised["problem"][2])

    def test_bytes_that_are_no_table_are_an_error(self):
        whole = pickle.dumps(self.run_.cells)
        self.assertEqual(pickle.loads(whole), self.run_.cells)
        for broken in (b"", b"{}", b'{"rows":9,"columns":[{"name":"a","kind":"whole"}]}\n123', b"\xff\n"):
            with self.assertRaises(loadline.Error):
                _loadline.table_from_bytes(broken)

    def test_an_interrupt_ends_a_sweep(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            loadline.predict_many([loadline.Environment(ENVIRONMENT)] * 100_000, loadline.Plan(PLAN), table=True)

    def test_the_import_takes_nothing_but_the_standard_library(self):
        code = "import sys, loadline; print([of for of in ('ray', 'dask', 'distributed', 'mpi4py', 'pyarrow', 'numpy') if of in sys.modules])"
        self.assertEqual(subprocess.check_output([sys.executable, "-c", code], text=True).strip(), "[]")

    def test_ray_and_dask_make_the_same_rows_also_when_workers_are_killed_twice(self):
        if not os.environ.get("LOADLINE_TEST_LONG"):
            print("skipped: sweeps on Ray and Dask (LOADLINE_TEST_LONG=1)", file=sys.stderr)
            return
        environments = [loadline.Environment(ENVIRONMENT.replace("2000", str(1000 + of)), f"e{of}") for of in range(64)]
        options = {"draws": 1, "duration": "300 s"}
        whole = loadline.predict_many(environments, loadline.Plan(PLAN), table=True, **options)
        if has("distributed"):
            import dask
            import distributed

            from loadline import dask as on_dask

            dask.config.set({"distributed.scheduler.allowed-failures": 9})
            with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
                self.assertEqual(self.swept_with_kills(lambda: on_dask.sweep(environments, loadline.Plan(PLAN), client=client, **options), lambda words: "spawn_main" in words), whole)
                need = loadline.Need('schema = 1\niops = "900 IOPS"\nsize = "200 GiB"\n', "orders")
                advised = on_dask.advise_sweep([need] * 8, client=client, limits_only=True)
                self.assertEqual(advised, loadline.advise_many([need] * 8, limits_only=True))
        if has("ray"):
            import ray

            from loadline import ray as on_ray

            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
            try:
                self.assertEqual(self.swept_with_kills(lambda: on_ray.sweep(environments, loadline.Plan(PLAN), **options), lambda words: words.startswith("ray::predicted")), whole)
            finally:
                ray.shutdown()

    def test_ranks_of_mpi_agree_keep_their_runs_and_become_one(self):
        if not os.environ.get("LOADLINE_TEST_LONG"):
            print("skipped: ranks of MPI (LOADLINE_TEST_LONG=1)", file=sys.stderr)
            return
        mpirun = os.path.join(os.path.dirname(sys.executable), "mpirun")
        mpirun = mpirun if os.path.exists(mpirun) else shutil.which("mpirun")
        if not has("mpi4py") or mpirun is None:
            return
        with open(self.path("plan.toml"), "w", encoding="utf-8") as file:
            file.write('schema = 1\nname = "shared"\n[[load]]\nblock = "4 KiB"\narrival = { constant = "500 IOPS" }\nduration = "2 s"\ntrials = 2\n')
        where = {**os.environ, **dict.fromkeys(ROOT_OF_MPI, "1")}

        def ranks(*words, plan="plan.toml"):
            line = [mpirun, "--oversubscribe", "--bind-to", "none", "-n", "3", sys.executable, "-m", "loadline.mpi", plan, *words]
            return subprocess.run(line, capture_output=True, text=True, cwd=self.folder.name, env=where, timeout=300)

        # One of them is refused: no rank writes anything.
        os.makedirs(self.path("t/0"))
        os.makedirs(self.path("t/1"))
        done = ranks("--on", "data=t/{rank}", "--folder", "refused", "--size", "1 MiB")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 2:", done.stderr)
        self.assertIn("nothing was written, on no rank", done.stderr)
        self.assertEqual([os.listdir(self.path(f"t/{of}")) for of in (0, 1)] + [os.listdir(self.path("refused"))], [[], [], []])
        # Ranks that would not run the same plan write nothing either.
        for of in (0, 1, 2):
            os.makedirs(self.path(f"t/{of}"), exist_ok=True)
            shutil.copy(self.path("plan.toml"), self.path(f"plan-{of}.toml"))
        with open(self.path("plan-1.toml"), "a", encoding="utf-8") as file:
            file.write("pause = \"1 s\"\n")
        line = ["--on", "data=t/{rank}", "--folder", "differing", "--size", "1 MiB"]
        done = ranks(*line, plan="plan-{rank}.toml")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 1: it would run another plan than rank 0", done.stderr)
        self.assertEqual([os.listdir(self.path(f"t/{of}")) for of in (0, 1, 2)] + [os.listdir(self.path("differing"))], [[], [], [], []])
        self.assertIn("leave --rank", ranks("--on", "data=null", "--rank", "0/3", "--folder", "typed").stderr)
        # In steps with more and more ranks.
        done = ranks("--on", "data=null", "--folder", "steps", "--store", "steps.db", "--start-in", "4", "--hosts", "1,2,3", "--trials", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        (scaling,) = loadline.Store(self.path("steps.db"))["last"].to_dict()["hosts_scaling"]
        self.assertEqual(([point["hosts"] for point in scaling["points"]], scaling["limit"]), ([1, 2, 3], "arrival"))
        done = ranks("--on", "data=null", "--folder", "ranks", "--store", "all.db", "--start-in", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.path("ranks")))[:4], ["clocks.json", "rank-0.db", "rank-1.db", "rank-2.db"])
        merged = loadline.Store(self.path("all.db"))["last"].to_dict()["cells"][0]
        self.assertAlmostEqual(merged["total"]["iops"], 1500, delta=15)
        self.assertEqual(merged["hosts"]["stragglers"], [])
        self.assertLess(merged["hosts"]["start_spread_ns"], 50e6)
        for host in merged["hosts"]["hosts"]:
            self.assertLessEqual(abs(host["clock_offset_ns"]), host["clock_error_ns"])

    def swept_with_kills(self, sweep, is_worker):
        """The rows of a sweep under which a worker of this process is killed twice."""
        found = []
        thread = threading.Thread(target=lambda: found.append(sweep()))
        thread.start()
        killed = 0
        while thread.is_alive() and killed < 2:
            thread.join(0.5)
            for pid in descendants(os.getpid()):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().replace(b"\0", b" ").decode(errors="replace")
                    if is_worker(words) and thread.is_alive():
                        os.kill(pid, signal.SIGKILL)
                        killed += 1
                        break
        thread.join(300)
        self.assertEqual(killed, 2, "no worker was found to be killed")
        return found[0]

    def test_notebooks_show_the_table_and_the_chart(self):
        self.assertIn("<table", self.run_._repr_html_())
        self.assertIn("</html>", self.run_.report())
        chart = self.run_.plot()
        self.assertTrue(chart.startswith("<svg") and chart._repr_svg_().rstrip().endswith("</svg>"))
        import xml.dom.minidom

        xml.dom.minidom.parseString(chart)

    def test_the_command_comes_with_the_package(self):
        self.assertIn("outstanding-sweep", self.command("plans"))
        self.assertEqual(self.command("--version").split()[-1], loadline.__version__)
        self.command("no-such-verb", status=2)

    def test_stubs_name_what_is_there(self):
        folder = os.path.dirname(loadline.__file__)
        for module, name in ((loadline, "__init__"), (_loadline, "_loadline")):
            with open(os.path.join(folder, name + ".pyi"), encoding="utf-8") as file:
                tree = ast.parse(file.read())
            stubbed = set()
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    members = {of.name for of in node.body if isinstance(of, (ast.FunctionDef, ast.ClassDef))}
                    found = getattr(module, node.name)
                    for member in members:
                        self.assertTrue(hasattr(found, member), f"{node.name}.{member}")
                    public = {of for of in vars(found) if not of.startswith("_")}
                    self.assertLessEqual(public, members | {"name", "text"}, node.name)
                    stubbed.add(node.name)
                elif isinstance(node, ast.FunctionDef):
                    self.assertTrue(callable(getattr(module, node.name)), node.name)
                    stubbed.add(node.name)
                elif isinstance(node, ast.ImportFrom):
                    stubbed |= {of.asname or of.name for of in node.names}
            public = {of for of in vars(module) if not of.startswith("_")} - {"annotations"}
            self.assertLessEqual(public, stubbed)

    def test_type_checkers_accept_the_stubs(self):
        if not has("mypy"):
            return
        use = self.path("use.py")
        with open(use, "w", encoding="utf-8") as file:
            file.write(
                "import loadline\n"
                "rows: loadline.Table = loadline.predict_many(['ds3-p30'], 'quick-look', limits_only=True)\n"
                "runs: list[loadline.Run] = loadline.predict_many(['ds3-p30'], 'quick-look', draws=1)\n"
                "run: loadline.Run = loadline.predict(loadline.Plan.named('quick-look'), 'ds3-p30', draws=1)\n"
                "names: list[str] = run.cells.columns\n"
                "with loadline.emulate('ds3-p30') as disk:\n    uri: str = disk.uri()\n"
            )
        where = {**os.environ, "MYPYPATH": ""}
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.path("cache"), use], capture_output=True, text=True, env=where
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "loadline"], capture_output=True, text=True, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_examples_of_the_page_run(self):
        with open(os.path.join(os.environ["LOADLINE_DOCUMENTS"], "python.md"), encoding="utf-8") as file:
            blocks = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertGreaterEqual(len(blocks), 5)
        names, before = {}, os.getcwd()
        os.chdir(self.folder.name)
        try:
            for block in blocks:
                needs = [of for of in ("polars", "pandas", "duckdb") if re.search(rf"\b{of}\b", block)]
                if all(importlib.util.find_spec(of) for of in needs):
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(compile(block, "docs/python.md", "exec"), names)
        finally:
            os.chdir(before)


def descendants(pid):
    children = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                children += [int(of) for of in file.read().split()]
    return children + [below for child in children for below in descendants(child)]


def cells_of(run):
    return run.cells


if __name__ == "__main__":
    unittest.main()
