//! Job files and command lines as people publish and paste them: how many of them run, and why the others do not.

use loadline_workload::{FioFile, FioSurroundings, fio_command, fio_jobs_in};

/// What files of the field include.
const INCLUDED: [(&str, &str); 2] = [
    (
        "common.fio",
        "randrepeat=0\nverify=0\nioengine=libaio\ndirect=1\ntime_based\nramp_time=60s\nruntime=60s\ngroup_reporting\nsize=30g\nfilename=/vol/test\n\
         random_generator=tausworthe64\n",
    ),
    ("prof.inc", "ioengine=libaio\ndirect=1\nruntime=120\nsize=496g\ntime_based\ngroup_reporting\n"),
];

/// Where each is from, and its text: `|` stands between lines of a job file, and a command line begins with `fio`.
const FORMS: [(&str, &str); 70] = [
    // Longhorn's kbench.
    (
        "kbench iops",
        "[global]|include common.fio|bs=4K|iodepth=64|numjobs=4|norandommap=1|[iops-rand-read]|rw=randread",
    ),
    (
        "kbench iops",
        "[global]|include common.fio|bs=4K|iodepth=64|numjobs=4|norandommap=1|[iops-rand-write]|rw=randwrite",
    ),
    ("kbench iops", "[global]|include common.fio|bs=4K|iodepth=64|numjobs=1|[iops-seq-read]|stonewall|rw=read"),
    ("kbench iops", "[global]|include common.fio|bs=4K|iodepth=64|numjobs=1|[iops-seq-write]|stonewall|rw=write"),
    ("kbench bandwidth", "[global]|include common.fio|bs=128K|iodepth=16|numjobs=4|norandommap=1|[bw]|rw=randread"),
    ("kbench bandwidth", "[global]|include common.fio|bs=128K|iodepth=16|numjobs=4|norandommap=1|[bw]|rw=randwrite"),
    ("kbench bandwidth", "[global]|include common.fio|bs=128K|iodepth=16|numjobs=4|offset_increment=1g|[bw]|rw=read"),
    ("kbench bandwidth", "[global]|include common.fio|bs=128K|iodepth=16|numjobs=4|offset_increment=1g|[bw]|rw=write"),
    ("kbench latency", "[global]|include common.fio|bs=4K|iodepth=1|numjobs=1|[lat-rand-read]|rw=randread"),
    ("kbench latency", "[global]|include common.fio|bs=4K|iodepth=1|numjobs=1|[lat-seq-write]|rw=write"),
    // Google's, Amazon's, Microsoft's and Oracle's pages.
    (
        "GCP write throughput",
        "fio --name=write_throughput --directory=/m/fiotest --numjobs=16 --size=10G --time_based --runtime=5m --ramp_time=2s --ioengine=libaio \
         --direct=1 --verify=0 --bs=1M --iodepth=64 --rw=write --group_reporting=1 --iodepth_batch_submit=64 --iodepth_batch_complete_max=64",
    ),
    (
        "GCP write iops",
        "fio --name=write_iops --directory=/m/fiotest --size=10G --time_based --runtime=5m --ramp_time=2s --ioengine=libaio --direct=1 \
         --verify=0 --bs=4K --iodepth=256 --rw=randwrite --group_reporting=1 --iodepth_batch_submit=256 --iodepth_batch_complete_max=256",
    ),
    (
        "GCP raw device",
        "fio --name=write_bandwidth_test --filename=/dev/sdb --filesize=2500G --time_based --ramp_time=2s --runtime=1m --ioengine=libaio \
         --direct=1 --verify=0 --randrepeat=0 --bs=1M --iodepth=64 --rw=write --numjobs=16 --offset_increment=100G",
    ),
    (
        "GCP raw device",
        "fio --name=read_latency_test --filename=/dev/sdb --filesize=2500G --time_based --ramp_time=2s --runtime=1m --ioengine=libaio \
         --direct=1 --verify=0 --randrepeat=0 --bs=4K --iodepth=4 --rw=randread --iodepth_batch_submit=4 --iodepth_batch_complete_max=4",
    ),
    (
        "GCP local SSD",
        "fio --name=myjob --filename=/dev/nvme0n1 --size=100% --time_based --ramp_time=2s --runtime=1m --ioengine=libaio --direct=1 --verify=0 \
         --randrepeat=0 --bs=4096 --iodepth=256 --rw=randread --group_reporting --iodepth_batch_submit=256 --iodepth_batch_complete_max=256 \
         --numjobs=8",
    ),
    (
        "AWS",
        "fio --directory=/mnt/p_iops_vol0 --name fio_test_file --direct=1 --rw=randwrite --bs=16k --size=1G --numjobs=16 --time_based \
         --runtime=180 --group_reporting --norandommap",
    ),
    (
        "AWS",
        "fio --filename=/dev/xvdf --direct=1 --rw=randrw --bs=16k --ioengine=libaio --iodepth=32 --runtime=180 --numjobs=1 --time_based \
         --group_reporting --name=mixed --rwmixread=50 --eta-newline=1",
    ),
    (
        "AWS st1",
        "fio --filename=/dev/xvdg --rw=read --bs=1024k --ioengine=libaio --iodepth=8 --runtime=180 --direct=1 --name=st1 --time_based",
    ),
    (
        "AWS initialise",
        "fio --filename=/dev/nvme1n1 --rw=read --bs=1M --iodepth=32 --ioengine=libaio --direct=1 --name=volume-initialize",
    ),
    (
        "Azure",
        "[global]|size=30g|direct=1|iodepth=256|ioengine=libaio|bs=4k|numjobs=4|[writer1]|rw=randwrite|directory=/mnt/nocache",
    ),
    (
        "Azure",
        "[global]|size=30g|direct=1|iodepth=128|ioengine=libaio|bs=4k|numjobs=4|[reader1]|rw=randread|directory=/mnt/readcache",
    ),
    (
        "Azure",
        "[global]|size=30g|direct=1|iodepth=128|ioengine=libaio|bs=4k|numjobs=4|[reader1]|rw=randread|directory=/mnt/readcache|[writer1]\
         |rw=randwrite|directory=/mnt/nocache|rate_iops=3200",
    ),
    (
        "OCI",
        "fio --filename=/dev/sdb --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=256 --runtime=120 --numjobs=4 --time_based \
         --group_reporting --name=iops-test-job --eta-newline=1 --readonly",
    ),
    (
        "OCI",
        "fio --filename=/dev/sdb --direct=1 --rw=randrw --bs=256k --ioengine=libaio --iodepth=64 --runtime=120 --numjobs=4 --time_based \
         --group_reporting --name=throughput-test-job --eta-newline=1",
    ),
    (
        "Alibaba",
        "fio -direct=1 -iodepth=128 -rw=randwrite -ioengine=libaio -bs=4k -size=1G -numjobs=1 -runtime=1000 -group_reporting \
         -filename=/dev/vdb -name=Rand_Write_Testing",
    ),
    (
        "Alibaba",
        "fio -direct=1 -iodepth=64 -rw=read -ioengine=libaio -bs=1024k -size=1G -numjobs=1 -runtime=1000 -group_reporting \
         -filename=/dev/vdb -name=Read_PPS_Testing",
    ),
    // Kubernetes.
    (
        "kubestr",
        "[global]|randrepeat=0|verify=0|ioengine=libaio|direct=1|gtod_reduce=1|[job1]|name=read_iops|bs=4K|iodepth=64|size=2G\
         |readwrite=randread|time_based|ramp_time=2s|runtime=15s|[job2]|name=write_iops|bs=4K|iodepth=64|size=2G|readwrite=randwrite\
         |time_based|ramp_time=2s|runtime=15s|[job3]|name=read_bw|bs=128K|iodepth=64|size=2G|readwrite=randread|time_based|ramp_time=2s\
         |runtime=15s|[job4]|name=write_bw|bs=128k|iodepth=64|size=2G|readwrite=randwrite|time_based|ramp_time=2s|runtime=15s",
    ),
    (
        "dbench",
        "fio --randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_iops --filename=/data/fiotest --bs=4K \
         --iodepth=64 --size=2G --readwrite=randread --time_based --ramp_time=2s --runtime=15s",
    ),
    (
        "dbench",
        "fio --randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --name=write_latency --filename=/data/fiotest --bs=4K --iodepth=4 \
         --size=2G --readwrite=randwrite --time_based --ramp_time=2s --runtime=15s",
    ),
    (
        "dbench",
        "fio --randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_seq --filename=/data/fiotest --bs=1M \
         --iodepth=16 --size=2G --readwrite=read --time_based --ramp_time=2s --runtime=15s --thread --numjobs=4 --offset_increment=500M",
    ),
    (
        "dbench",
        "fio --randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=rw_mix --filename=/data/fiotest --bs=4k \
         --iodepth=64 --size=2G --readwrite=randrw --rwmixread=75 --time_based --ramp_time=2s --runtime=15s",
    ),
    (
        "benchmark-operator",
        "[global]|directory=/tmp/fiod|filename_format=f.\\$jobnum.\\$filenum|write_bw_log=fio|write_iops_log=fio|write_lat_log=fio\
         |write_hist_log=fio|log_avg_msec=1000|log_hist_msec=10000|clocksource=clock_gettime|kb_base=1000|unit_base=8|ioengine=libaio\
         |size=5g|bs=4KiB|rate_iops=0|iodepth=4|direct=1|numjobs=1|time_based=1|runtime=60|ramp_time=5|[randread]|rw=randread",
    ),
    (
        "benchmark-operator",
        "[global]|directory=/tmp/fiod|filename_format=f.\\$jobnum.\\$filenum|log_avg_msec=30000|ioengine=sync|size=100mb|bs=64KiB|iodepth=1\
         |direct=0|numjobs=1|[write]|rw=write|fsync_on_close=1|create_on_open=1",
    ),
    // Databases and their disks.
    (
        "etcd",
        "fio --rw=write --ioengine=sync --fdatasync=1 --directory=/var/lib/etcd/test-data --size=22m --bs=2300 --name=mytest",
    ),
    (
        "etcd OpenShift",
        "fio --name=etcd_perf --filename=/var/lib/etcd/fio --rw=write --ioengine=sync --fdatasync=1 --size=100m --bs=8000 --runtime=100 \
         --output-format=json",
    ),
    (
        "etcd beside readers",
        "[global]|directory=/var/lib/etcd|[wal]|rw=write|ioengine=sync|fdatasync=1|size=22m|bs=2300|[readers]|rw=randread|bs=8k|size=1g\
         |direct=1|ioengine=libaio|iodepth=8|runtime=30|time_based",
    ),
    ("etcd", "[wal]|rw=write|ioengine=sync|fdatasync=1|directory=/w|size=22m|bs=2300|rate_iops=100"),
    (
        "pg wal",
        "fio --name=pgwal --filename=/pg/wal.test --size=1g --rw=write --bs=8k --ioengine=psync --fdatasync=1 --runtime=30 --time_based",
    ),
    (
        "mariadb",
        "[global]|bs=16k|ioengine=libaio|direct=1|runtime=60|time_based|size=4g|directory=/var/lib/mysql|[mixed]|rw=randrw|rwmixread=70\
         |iodepth=16|numjobs=4|group_reporting",
    ),
    (
        "oracle-like",
        "[global]|ioengine=libaio|direct=1|size=10g|runtime=120|time_based|filename=/u01/test|[dbw]|rw=randrw|rwmixread=70|bs=8k|iodepth=32\
         |[lgwr]|rw=write|bs=512|iodepth=1|rate_iops=500",
    ),
    (
        "ceph journal",
        "fio --filename=/dev/sdb --direct=1 --sync=1 --rw=write --bs=4k --numjobs=1 --iodepth=1 --runtime=60 --time_based --group_reporting \
         --name=journal-test",
    ),
    // Blogs, forums, desktops.
    (
        "YABS",
        "fio --name=rand_rw_4k --ioengine=libaio --rw=randrw --rwmixread=50 --bs=4k --iodepth=64 --numjobs=2 --size=2G --runtime=30 \
         --gtod_reduce=1 --direct=1 --filename=/srv/t/test.fio --group_reporting --minimal",
    ),
    (
        "YABS preparation",
        "fio --name=setup --ioengine=libaio --rw=read --bs=64k --iodepth=64 --numjobs=2 --size=2G --runtime=1 --gtod_reduce=1 \
         --filename=/srv/t/test.fio --direct=1 --minimal",
    ),
    (
        "75:25 of many blogs",
        "fio --randrepeat=1 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=test --filename=random_read_write.fio --bs=4k --iodepth=64 \
         --size=4G --readwrite=randrw --rwmixread=75",
    ),
    (
        "Ars Technica",
        "fio --name=random-write --ioengine=posixaio --rw=randwrite --bs=4k --size=4g --numjobs=1 --iodepth=1 --runtime=60 --time_based \
         --end_fsync=1",
    ),
    (
        "Ars Technica",
        "fio --name=random-write --ioengine=posixaio --rw=randwrite --bs=64k --size=256m --numjobs=16 --iodepth=16 --runtime=60 --time_based \
         --end_fsync=1",
    ),
    (
        "Phoronix",
        "[global]|rw=randread|ioengine=libaio|iodepth=64|size=1g|direct=1|buffered=0|startdelay=5|force_async=4|ramp_time=5|runtime=20\
         |time_based|clat_percentiles=0|disable_lat=1|disable_clat=1|disable_slat=1|filename=fiofile|[test]|name=test|bs=4k|stonewall",
    ),
    (
        "CrystalDiskMark-like",
        "[global]|ioengine=libaio|size=1g|direct=1|loops=5|runtime=5|filename=/m/f|[seq1mq8t1]|bs=1m|iodepth=8|numjobs=1|rw=read|stonewall\
         |[rnd4kq32t16]|bs=4k|iodepth=32|numjobs=16|rw=randread|group_reporting|stonewall",
    ),
    (
        "fio-cdm",
        "[global]|ioengine=libaio|filename=/m/.f|direct=1|size=1073741824.0|runtime=5|time_based|loops=5|[s]|rw=read|bs=1m|iodepth=8|stonewall\
         |[r]|rw=randwrite|bs=4k|iodepth=32|stonewall",
    ),
    (
        "KDiskMark",
        "fio --output-format=json --ioengine=libaio --direct=1 --randrepeat=0 --refill_buffers --end_fsync=1 --rwmixread=70 --filename=/m/k.tmp \
         --name=rw --size=1024m --zero_buffers=0 --bs=4k --runtime=5 --rw=randwrite --iodepth=32 --numjobs=1",
    ),
    ("laptop", "fio --name=seq --rw=read --bs=1m --size=1g --filename=/tmp/x --direct=1"),
    (
        "laptop",
        "fio --name=a --rw=randread --bs=4k --size=1g --numjobs=4 --iodepth=32 --ioengine=io_uring --runtime=30",
    ),
    (
        "io_uring, tuned",
        "fio --name=t --filename=/dev/nvme0n1 --rw=randread --bs=512 --direct=1 --ioengine=io_uring --iodepth=128 --fixedbufs --registerfiles \
         --hipri --sqthread_poll --numjobs=1 --gtod_reduce=1 --runtime=10 --time_based --norandommap --iodepth_batch_submit=32 \
         --iodepth_batch_complete_max=32 --cpus_allowed=3",
    ),
    (
        "Proxmox",
        "fio --filename=/dev/sdx --direct=1 --sync=1 --rw=randwrite --bs=4K --numjobs=1 --iodepth=1 --runtime=60 --time_based --name=fio",
    ),
    (
        "two disks",
        "fio --name=both --filename=/dev/sdb:/dev/sdc --rw=randread --bs=4k --iodepth=64 --ioengine=libaio --direct=1 --runtime=60 --time_based",
    ),
    (
        "two files",
        "[global]|ioengine=libaio|direct=1|iodepth=16|runtime=60|time_based|[j]|filename=/m/a:/m/b|size=8g|rw=randread|bs=8k",
    ),
    // Test suites.
    (
        "PerfKitBenchmarker",
        "[global]|ioengine=libaio|invalidate=1|direct=1|runtime=600|ramp_time=10|time_based|filename=/scratch/f|do_verify=0|verify_fatal=0\
         |group_reporting=1|percentile_list=1:5:10:20:25:30:40:50:60:70:75:80:90:95:99:99.5:99.9:99.95:99.99|randrepeat=0\
         |[rand_8k_read_100%-io-depth-1-num-jobs-1]|stonewall|rw=randread|rwmixread=100|blocksize=8k|iodepth=1|size=100%|numjobs=1",
    ),
    (
        "PerfKitBenchmarker",
        "[global]|ioengine=libaio|invalidate=1|direct=1|runtime=600|time_based|filename=/dev/sdb|do_verify=0|verify_fatal=0|randrepeat=0\
         |[seq_1M_write]|stonewall|rw=write|blocksize=1M|iodepth=64|size=100%|numjobs=1",
    ),
    (
        "PerfKitBenchmarker fill",
        "fio --filename=/dev/sdb --ioengine=libaio --name=fill-device --blocksize=512k --iodepth=64 --rw=write --direct=1 --size=100%",
    ),
    (
        "PerfKitBenchmarker",
        "[global]|ioengine=libaio|direct=1|runtime=60|time_based|filename=/dev/sdb|[rand_half]|stonewall|rw=randwrite|bs=4k|iodepth=4|size=50%",
    ),
    (
        "VirtualClient OLTP",
        "[global]|ioengine=libaio|direct=1|runtime=300|time_based|size=20g|group_reporting|overwrite=1|thread|random_generator=tausworthe64\
         |[oltp-log]|rw=write|bs=4k|iodepth=1|numjobs=1|[oltp-data-read]|rw=randread|bs=8k|iodepth=32|numjobs=2|[oltp-data-write]|rw=randwrite\
         |bs=8k|iodepth=16|numjobs=2",
    ),
    (
        "VirtualClient",
        "fio --name=fio_randwrite_4k_d1_th16 --size=496G --numjobs=16 --rw=randwrite --bs=4k --iodepth=1 --ioengine=libaio --direct=1 \
         --ramp_time=30 --runtime=300 --time_based --overwrite=1 --thread --group_reporting --output-format=json --filename=/d/f",
    ),
    (
        "VirtualClient integrity",
        "fio --name=dataintegrity --size=4G --rw=randwrite --bs=4k --iodepth=16 --ioengine=libaio --direct=1 --verify=sha256 --do_verify=1 \
         --overwrite=1 --filename=/d/f",
    ),
    (
        "ezfio",
        "[test]|readwrite=randrw|rwmixread=70|blocksize=4096|iodepth=16|numjobs=4|filename=/dev/nvme0n1|ioengine=libaio|direct=1|norandommap=1\
         |randrepeat=0|runtime=120|time_based|group_reporting|size=100%|refill_buffers|allrandrepeat=0|thread=1",
    ),
    (
        "ezfio precondition",
        "fio --name=SeqCond --readwrite=write --bs=128k --ioengine=libaio --iodepth=64 --direct=1 --filename=/dev/nvme0n1 --size=100% --thread \
         --buffer_compress_percentage=50 --refill_buffers",
    ),
    (
        "SNIA precondition",
        "[global]|filename=/dev/nvme0n1|direct=1|ioengine=libaio|[w]|rw=write|bs=128k|iodepth=32|loops=2|[r]|stonewall|rw=randwrite|bs=4k\
         |iodepth=32|numjobs=4|norandommap|randrepeat=0|runtime=1200|time_based",
    ),
    (
        "fio-plot",
        "[global]|include prof.inc|[j]|filename=/m/f|rw=randread|bs=4k|iodepth=16|numjobs=4|write_bw_log=l|log_avg_msec=500",
    ),
    (
        "iometer mix",
        "[j]|bssplit=512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10|rw=randrw|rwmixread=80|direct=1|size=4g|ioengine=libaio|iodepth=64",
    ),
    (
        "partly sequential",
        "[j]|rw=randread|percentage_random=30|bs=16k|size=8g|direct=1|ioengine=libaio|iodepth=8|runtime=60|time_based|filename=/m/f",
    ),
    (
        "latency profile",
        "[j]|rw=randread|bs=4k|direct=1|ioengine=libaio|iodepth=128|latency_target=500000|latency_window=5000000|latency_percentile=99.9\
         |filename=/dev/sda",
    ),
];

/// Why a form does not run, in short; `None` if it runs.
fn refused(text: &str) -> Option<String> {
    let file = |path: &str, _: &str| {
        let found = INCLUDED.iter().find(|(name, _)| *name == path).ok_or("no such file")?;
        Ok(FioFile { path: path.to_owned(), text: found.1.to_owned() })
    };
    let around = FioSurroundings { file: &file, ..FioSurroundings::NONE };
    let read = if text.starts_with("fio ") {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        fio_command(&words, around)
    } else {
        fio_jobs_in(&text.replace('|', "\n"), "form", around)
    };
    read.err().map(|error| error.to_string())
}

/// Forms that are refused, each by an option: what they ask for is not to be had here.
const REFUSED: [(&str, &str); 2] = [("two disks", "--filename"), ("latency profile", "latency_target=")];

#[test]
fn forms_of_the_field_run_or_say_why_they_do_not() {
    let mut wrong = Vec::new();
    for (name, text) in &FORMS {
        let expected = REFUSED.iter().find(|(refused, _)| refused == name).map(|(_, option)| *option);
        match (expected, refused(text)) {
            (None, None) => {}
            (Some(option), Some(why)) if why.contains(option) => println!("{name}: {why}"),
            (_, why) => wrong.push(format!("{name}: {why:?}\n  {text}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{} of {} forms run", FORMS.len() - REFUSED.len(), FORMS.len());
}
