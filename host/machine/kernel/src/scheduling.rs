//! When a thread has its turn on a processor that others want.

use std::io;
use std::marker::PhantomData;

/// The shortest slices that Linux gives, in ns.
const SLICE_MIN: u64 = 100_000;
/// The lowest priority in the real-time class: before all that is normal, after all else there.
const PRIORITY: u32 = 1;
/// Threads that this one starts are normal ones (`SCHED_FLAG_RESET_ON_FORK`).
const NOT_INHERITED: u64 = 1;

/// How soon a thread runs once it woke, where others want the processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Turns {
    /// As the user, or the system, has set: mostly when the slice of whoever runs has passed, which takes up to some milliseconds.
    #[default]
    AsGiven,
    /// With slices of 0.1 ms, which have it run before those with longer ones, as far as its share allows. Linux gives them since 6.12.
    Short,
    /// In the real-time class (`SCHED_FIFO`), by its lowest priority: at once.
    RealTime,
    /// In the batch class (`SCHED_BATCH`): it takes the processor from nobody who runs.
    Batch,
}

impl Turns {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsGiven => "as-given",
            Self::Short => "short-slices",
            Self::RealTime => "real-time",
            Self::Batch => "batch",
        }
    }
}

/// The turns of the thread that made it.
#[derive(Debug)]
pub struct TurnsOfThread {
    /// As it was; `None`: the system does not tell, or it is in another class than the normal one, where it stays.
    given: Option<libc::sched_attr>,
    now: Turns,
    _stays: PhantomData<*const ()>,
}

impl TurnsOfThread {
    /// Of the calling thread, as they are.
    #[must_use]
    pub fn given() -> Self {
        let given = scheduling().ok().filter(|given| given.sched_policy == libc::SCHED_OTHER.cast_unsigned());
        Self { given, now: Turns::AsGiven, _stays: PhantomData }
    }

    /// Which these are now.
    #[must_use]
    pub const fn now(&self) -> Turns {
        self.now
    }

    /// Has the thread run as soon as it wakes, or nearly: in the real-time class where the system lets it (root, `CAP_SYS_NICE`, a limit
    /// `RLIMIT_RTPRIO`), else with short slices, else as it was given. It should seldom run, and not for long. Gives what came of it.
    pub fn hasten(&mut self) -> Turns {
        let Some(given) = self.given else { return self.now };
        let flags = given.sched_flags | NOT_INHERITED;
        let real_time = libc::sched_attr {
            sched_policy: libc::SCHED_FIFO.cast_unsigned(),
            sched_priority: PRIORITY,
            sched_nice: 0,
            sched_runtime: 0,
            sched_flags: flags,
            ..given
        };
        let short = libc::sched_attr { sched_runtime: SLICE_MIN, sched_flags: flags, ..given };
        if schedule(real_time).is_ok() {
            self.now = Turns::RealTime;
        } else if schedule(short).is_ok() && scheduling().is_ok_and(|now| now.sched_runtime == SLICE_MIN) {
            // Older kernels take it, and do nothing.
            self.now = Turns::Short;
        } else {
            self.relax();
        }
        self.now
    }

    /// Has the thread take the processor from nobody when it wakes, and else its share of it. Who wakes it goes on meanwhile, and
    /// there is more to do in one turn.
    pub fn stand_back(&mut self) {
        let Some(given) = self.given.filter(|_| self.now != Turns::Batch) else { return };
        let batch = |flags| {
            let sched_policy = libc::SCHED_BATCH.cast_unsigned();
            schedule(libc::sched_attr { sched_policy, sched_flags: flags, ..given })
        };
        // Whoever is not privileged cannot take the flag back, which matters to nobody.
        if batch(given.sched_flags).is_ok() || batch(NOT_INHERITED).is_ok() {
            self.now = Turns::Batch;
        }
    }

    /// Puts back what was given.
    pub fn relax(&mut self) {
        let Some(given) = self.given.filter(|_| self.now != Turns::AsGiven) else { return };
        // Whoever is not privileged cannot take the flag back, which matters to nobody.
        if schedule(given).is_ok() || schedule(libc::sched_attr { sched_flags: NOT_INHERITED, ..given }).is_ok() {
            self.now = Turns::AsGiven;
        }
    }
}

/// Whether the calling thread may run on one processor only.
#[must_use]
pub fn is_pinned() -> bool {
    processors() == Some(1)
}

/// How many processors the calling thread may run on, whatever quota limits its time on them. `None` if the kernel does not say.
#[must_use]
pub fn processors() -> Option<u32> {
    let mut set = std::mem::MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: `set` is a valid place for one set of processors, which the kernel fills.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) };
    if result != 0 {
        return None;
    }
    // SAFETY: all zeros are a set, too: the empty one; counting reads that set alone.
    u32::try_from(unsafe { libc::CPU_COUNT(set.assume_init_ref()) }).ok()
}

/// How the scheduler treats the calling thread.
fn scheduling() -> io::Result<libc::sched_attr> {
    // SAFETY: all-zero bytes are a valid sched_attr.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::sched_attr>() as libc::c_uint;
    // SAFETY: the kernel writes at most `size` bytes to `attributes`, which outlives the call.
    let code = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if code == 0 { Ok(attributes) } else { Err(io::Error::last_os_error()) }
}

/// Has the scheduler treat the calling thread so.
fn schedule(attributes: libc::sched_attr) -> io::Result<()> {
    let attributes = libc::sched_attr { size: size_of::<libc::sched_attr>() as u32, ..attributes };
    // SAFETY: the kernel reads as many bytes as `size` says, which `attributes` has, and it outlives the call.
    let code = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> (i32, i32) {
        let attributes = scheduling().unwrap();
        (attributes.sched_policy.cast_signed(), attributes.sched_nice)
    }

    /// Also started by the next test, in a process that has a quota.
    #[test]
    fn this_process_has_processors() {
        let processors = processors().unwrap();
        assert!(processors > 0);
        println!("processors {processors}");
    }

    #[test]
    fn a_quota_takes_time_and_no_processors() {
        let group = format!("/sys/fs/cgroup/cpu/loadline-test-{}", std::process::id());
        if std::fs::create_dir(&group).is_err() {
            println!("skipped: needs root and control groups of the first version");
            return;
        }
        // What std counts as parallelism is one here, by the quota.
        let script =
            "echo 100000 > $1/cpu.cfs_quota_us && echo $$ > $1/tasks && exec \"$2\" --nocapture this_process_has";
        let this = std::env::current_exe().unwrap();
        let child = std::process::Command::new("sh").args(["-c", script, "sh", &group]).arg(this).output();
        std::fs::remove_dir(&group).unwrap();
        let text = String::from_utf8(child.unwrap().stdout).unwrap();
        assert!(text.contains(&format!("processors {}\n", processors().unwrap())), "{text}");
    }

    #[test]
    fn a_hastened_thread_starts_normal_ones_and_becomes_what_it_was() {
        let before = policy();
        if before.0 != libc::SCHED_OTHER {
            println!("skipped: the tests themselves run in another class than the normal one");
            return;
        }
        let mut turns = TurnsOfThread::given();
        assert_eq!(turns.now(), Turns::AsGiven);
        let hastened = turns.hasten();
        assert_eq!(turns.now(), hastened);
        match hastened {
            Turns::RealTime => assert_eq!(policy().0, libc::SCHED_FIFO),
            Turns::Short => assert_eq!(policy(), before),
            Turns::AsGiven => println!("the system grants nothing here"),
            Turns::Batch => panic!("a hastened thread stands back"),
        }
        // The kernel gives them a nice value of 0, whatever this one's was.
        assert_eq!(std::thread::spawn(policy).join().unwrap().0, before.0);
        // Twice is once.
        assert_eq!(turns.hasten(), hastened);
        turns.relax();
        assert_eq!((turns.now(), policy()), (Turns::AsGiven, before));
        turns.relax();
        assert_eq!(policy(), before);
    }

    #[test]
    fn a_thread_that_stands_back_may_be_hastened_again_and_becomes_what_it_was() {
        let thread = std::thread::spawn(|| {
            let before = policy();
            let mut turns = TurnsOfThread::given();
            let hastened = turns.hasten();
            for _ in 0..2 {
                turns.stand_back();
                assert_eq!((turns.now(), policy()), (Turns::Batch, (libc::SCHED_BATCH, before.1)));
            }
            assert_eq!((turns.hasten(), policy().0 == libc::SCHED_BATCH), (hastened, false));
            turns.stand_back();
            turns.relax();
            assert_eq!((turns.now(), policy()), (Turns::AsGiven, before));
        });
        if policy().0 == libc::SCHED_OTHER {
            thread.join().unwrap();
        } else {
            println!("skipped: the tests themselves run in another class than the normal one");
        }
    }

    #[test]
    fn a_class_that_the_user_chose_is_kept() {
        let batch = libc::sched_attr { sched_policy: libc::SCHED_BATCH.cast_unsigned(), ..scheduling().unwrap() };
        let thread = std::thread::spawn(move || {
            schedule(batch).unwrap();
            let mut turns = TurnsOfThread::given();
            let hastened = turns.hasten();
            turns.stand_back();
            turns.relax();
            (hastened, policy().0)
        });
        assert_eq!(thread.join().unwrap(), (Turns::AsGiven, libc::SCHED_BATCH));
    }

    #[test]
    fn a_user_without_privileges_has_short_slices_and_may_give_them_back() {
        let thread = std::thread::spawn(|| {
            // Of this thread alone: the library's own function would change all.
            // SAFETY: no pointers are passed.
            let dropped = unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) } == 0;
            let given = scheduling().unwrap().sched_runtime;
            let mut turns = TurnsOfThread::given();
            let hastened = turns.hasten();
            turns.stand_back();
            let stood_back = turns.now();
            turns.relax();
            assert_eq!(stood_back, Turns::Batch);
            (dropped, given, hastened, scheduling().unwrap().sched_runtime, turns.now())
        });
        let (dropped, given, hastened, runtime, after) = thread.join().unwrap();
        if !dropped {
            println!("the tests do not run as root, and so as somebody without privileges anyway");
        }
        // Somebody may have been granted more by a limit. A kernel that tells no slices gives no other ones.
        assert_eq!(hastened == Turns::AsGiven, given == 0, "{hastened:?}");
        assert_eq!((after, runtime), (Turns::AsGiven, given));
    }
}
