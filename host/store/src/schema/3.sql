-- Version 3: views for people and programs with an SQL shell, wide enough to plot over time. docs/formats/store.md lists their columns.
-- One row for each run.
CREATE VIEW runs_wide AS
SELECT runs.id AS run, runs.name, runs.verb, runs.clock, runs.started, runs.status, runs.version,
       json_extract(headers.document, '$.imported.tool') AS imported_from,
       json_extract(headers.document, '$.host.hostname') AS host,
       json_extract(headers.document, '$.host.kernel') AS kernel,
       json_extract(headers.document, '$.host.cpu_model') AS cpu_model,
       json_extract(headers.document, '$.host.cpus') AS cpus,
       json_extract(headers.document, '$.host.memory_bytes') AS memory_bytes,
       json_extract(headers.document, '$.environment.name') AS environment,
       (SELECT group_concat(json_extract(value, '$.name'), ' + ') FROM json_each(headers.document, '$.plans')) AS plan,
       (SELECT group_concat(target, ' ') FROM volumes WHERE volumes.run = runs.key) AS targets,
       runs.cells, runs.trials_planned, runs.trials_done, runs.doubts
FROM runs
JOIN headers ON headers.run = runs.key;

-- One row for each trial, with its load; the figures of an operation that it has not are null.
CREATE VIEW trials_wide AS
SELECT runs_wide.run, runs_wide.name, runs_wide.verb, runs_wide.clock, runs_wide.started, runs_wide.host, runs_wide.environment,
       runs_wide.plan, volumes.target, cells.volume, cells.id AS cell, cells.label, cells.pattern, cells.read_ratio,
       cells.block_bytes, cells.queue_depth, cells.threads, cells.arrival, cells.rate_iops, trials.trial,
       strftime('%Y-%m-%dT%H:%M:%SZ', trials.started_unix_s, 'unixepoch') AS trial_started, trials.engine,
       trials.measured_ns, trials.ending, trials.offered_iops, trials.iops, trials.bytes_per_s, trials.errors,
       r.iops AS read_iops, r.bytes_per_s AS read_bytes_per_s, r.mean_ns AS read_mean_ns, r.p50_ns AS read_p50_ns,
       r.p95_ns AS read_p95_ns, r.p99_ns AS read_p99_ns, r.p99_9_ns AS read_p99_9_ns, r.max_ns AS read_max_ns,
       w.iops AS write_iops, w.bytes_per_s AS write_bytes_per_s, w.mean_ns AS write_mean_ns, w.p50_ns AS write_p50_ns,
       w.p95_ns AS write_p95_ns, w.p99_ns AS write_p99_ns, w.p99_9_ns AS write_p99_9_ns, w.max_ns AS write_max_ns,
       f.iops AS flush_iops, f.mean_ns AS flush_mean_ns, f.p99_ns AS flush_p99_ns, f.max_ns AS flush_max_ns,
       (SELECT group_concat(code, ' ') FROM doubts WHERE doubts.trial = trials.key) AS doubts
FROM trials
JOIN cells ON cells.key = trials.cell
JOIN runs ON runs.key = cells.run
JOIN runs_wide ON runs_wide.run = runs.id
LEFT JOIN volumes ON volumes.run = runs.key AND volumes.name = cells.volume
LEFT JOIN operations AS r ON r.trial = trials.key AND r.operation = 'read'
LEFT JOIN operations AS w ON w.trial = trials.key AND w.operation = 'write'
LEFT JOIN operations AS f ON f.trial = trials.key AND f.operation = 'flush';

-- One row for each cell, also without a trial. A figure is the mean over its trials, beside the least and the most where these
-- matter; it is no percentile of all requests together, for which `loadline export` reads the histograms.
CREATE VIEW cells_wide AS
SELECT runs_wide.run, runs_wide.name, runs_wide.verb, runs_wide.clock, runs_wide.started, runs_wide.host, runs_wide.environment,
       runs_wide.plan, volumes.target, cells.volume, cells.id AS cell, cells.label, cells.pattern, cells.read_ratio,
       cells.block_bytes, cells.queue_depth, cells.threads, cells.arrival, cells.rate_iops, cells.trials_planned,
       count(t.trial) AS trials, avg(t.offered_iops) AS offered_iops_mean,
       avg(t.iops) AS iops_mean, min(t.iops) AS iops_min, max(t.iops) AS iops_max,
       avg(t.bytes_per_s) AS bytes_per_s_mean, min(t.bytes_per_s) AS bytes_per_s_min, max(t.bytes_per_s) AS bytes_per_s_max,
       avg(t.read_mean_ns) AS read_mean_ns_mean, avg(t.read_p50_ns) AS read_p50_ns_mean,
       avg(t.read_p99_ns) AS read_p99_ns_mean, max(t.read_max_ns) AS read_max_ns_max,
       avg(t.write_mean_ns) AS write_mean_ns_mean, avg(t.write_p50_ns) AS write_p50_ns_mean,
       avg(t.write_p99_ns) AS write_p99_ns_mean, max(t.write_max_ns) AS write_max_ns_max,
       sum(t.errors) AS errors, group_concat(t.doubts, ' ') AS doubts
FROM cells
JOIN runs ON runs.key = cells.run
JOIN runs_wide ON runs_wide.run = runs.id
LEFT JOIN volumes ON volumes.run = runs.key AND volumes.name = cells.volume
LEFT JOIN trials_wide AS t ON t.run = runs.id AND t.cell = cells.id
GROUP BY cells.key;
