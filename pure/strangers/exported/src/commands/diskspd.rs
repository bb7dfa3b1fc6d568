//! Command lines of diskspd 2.1 and 2.2, and the scripts for PowerShell and for the command prompt that run them.

use super::{About, NS_PER_S, Put, Step, TEST_FILE, end_of};
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::{Arrival, Content, Distribution, FlushCadence, FlushMethod, LoadSpec, Pattern, Walk};

/// A note of loads whose threads each have a stretch of their own.
pub(super) const STRETCHES: &str =
    "diskspd's threads begin in stretches of their own, and each goes on from there through the whole file";

/// The options of a cell.
pub(super) fn options(spec: &LoadSpec) -> Result<Put, String> {
    let mut all: Vec<String> = Vec::new();
    let [block] = spec.blocks.as_slice() else {
        return Err(format!("it mixes {} sizes of blocks, and diskspd has one", spec.blocks.len()));
    };
    all.push(format!("-b{}", block.size.get()));
    if spec.is_bound_in_bytes() {
        return Err("it ends after so many bytes, and diskspd ends by time alone".to_owned());
    }
    all.push(format!("-d{}", seconds(spec.duration, "its duration")?));
    all.push(format!("-W{}", seconds(spec.warm_up, "its warm-up")?));
    all.push(format!("-C{}", seconds(spec.cool_down, "its cool-down")?));
    let threads = u64::from(spec.threads);
    let rate = match spec.arrival {
        Arrival::Constant { .. } | Arrival::Poisson { .. } => {
            return Err("its requests come at their time whatever is answered (an open loop), and diskspd has closed loops alone"
                .to_owned());
        }
        Arrival::Closed { think_time, .. } if think_time > Duration::ZERO => {
            return Err(
                "each of its requests has a think time, and diskspd waits between bursts of a thread".to_owned()
            );
        }
        Arrival::Closed { queue_depth, rate_max, .. } => {
            all.push(format!("-o{queue_depth}"));
            all.push(format!("-t{threads}"));
            rate_max
        }
    };
    let writes = spec.reads.complement();
    if !writes.as_ppm().is_multiple_of(PERCENT_PPM) {
        return Err(format!("diskspd's share of writes is in whole percents, and {writes} is none"));
    }
    all.push(format!("-w{}", writes.as_ppm() / PERCENT_PPM));
    let mut notes = pattern(spec, block.size, &mut all)?;
    if spec.start != Bytes::ZERO {
        all.push(format!("-B{}", spec.start.get()));
    }
    all.push(format!("-f{}", end_of(spec).get()));
    all.push(caching(spec)?.to_owned());
    if let Some(rate) = rate {
        if !rate.get().is_multiple_of(threads) {
            return Err(format!(
                "diskspd holds each thread to a whole number of requests per second, and {rate} is none over {threads}"
            ));
        }
        all.push(format!("-g{}i", rate.get() / threads));
    }
    if spec.writes_any() {
        all.push(contents(spec.content)?.to_owned());
    }
    if spec.drop_caches && spec.buffered {
        return Err("the machine's caches are dropped before each trial, and nothing does so there".to_owned());
    }
    if spec.drop_caches {
        notes.push("no caches are dropped before a trial: its requests go past them");
    }
    Ok(Put { text: all.join(" "), notes })
}

/// Parts of a million in a percent.
const PERCENT_PPM: u32 = 10_000;

fn seconds(time: Duration, what: &str) -> Result<u64, String> {
    let ns = time.as_ns();
    if ns.is_multiple_of(NS_PER_S) {
        Ok(ns / NS_PER_S)
    } else {
        Err(format!("{what} of {} is not of whole seconds, as diskspd counts", time.human()))
    }
}

fn pattern(spec: &LoadSpec, block: Bytes, all: &mut Vec<String>) -> Result<Vec<&'static str>, String> {
    let align = spec.align.unwrap_or(block);
    if spec.continued != Ratio::ZERO || spec.zones.is_some() || spec.staggered.is_some() {
        return Err("its requests go on from one another in a way that diskspd has not".to_owned());
    }
    match &spec.pattern {
        Pattern::Random(Distribution::Uniform) => all.push(format!("-r{}", align.get())),
        Pattern::Random(_) => {
            return Err("its random requests prefer some blocks, and those of diskspd are uniform".to_owned());
        }
        Pattern::Sequential { stride } => {
            if align != block {
                return Err("its offsets are aligned otherwise than its blocks, and diskspd's are not".to_owned());
            }
            if stride.is_some() && spec.walk != Walk::Again {
                return Err("it goes through its range with gaps in a way that diskspd has not".to_owned());
            }
            all.push(format!("-s{}", stride.unwrap_or(block).get()));
            if spec.threads > 1 && !spec.overlap {
                let range = spec.size.unwrap_or_default().get();
                let stretch = Bytes::new(range / u64::from(spec.threads)).round_down(block);
                if stretch == Bytes::ZERO {
                    return Err("its threads have no stretch of a whole block".to_owned());
                }
                all.push(format!("-T{}", stretch.get()));
                return Ok(vec![STRETCHES]);
            }
        }
    }
    Ok(Vec::new())
}

/// Without the cache of Windows, with or without durable writes, or with it.
fn caching(spec: &LoadSpec) -> Result<&'static str, String> {
    let is_durable = match spec.flush {
        _ if spec.end_flush => {
            return Err("it ends with a flush that is measured, and diskspd never flushes".to_owned());
        }
        None => false,
        Some(FlushCadence { every: 1, how: FlushMethod::Fua }) => true,
        Some(FlushCadence { every, how: FlushMethod::Fua }) => {
            return Err(format!("one write in {every} is durable by itself, and diskspd has all or none so"));
        }
        Some(FlushCadence { every, how: FlushMethod::Fdatasync }) => {
            return Err(format!("it flushes after every {every} writes of a thread, and diskspd never flushes"));
        }
    };
    Ok(match (spec.buffered, is_durable) {
        (false, false) => "-Su",
        (false, true) => "-Suw",
        (true, false) => "-Sb",
        (true, true) => "-Sbw",
    })
}

/// Random data for each write, as loadline writes it, or zeros.
fn contents(content: Content) -> Result<&'static str, String> {
    if content.duplicate != Ratio::ZERO {
        return Err("some of its blocks repeat others, and those of diskspd are random or zeros".to_owned());
    }
    match content.compressible {
        Ratio::ZERO => Ok("-Zr"),
        Ratio::ONE => Ok("-Z"),
        share => Err(format!("{share} of each block compresses away, and those of diskspd are random or zeros")),
    }
}

/// What every command has: latencies, seconds, and results in XML. A seed of its own keeps a trial from asking what the last one did.
fn whole(step: &Step<'_>) -> String {
    format!("{} -z{} -L -D1000 -Rxml", step.text, step.number)
}

/// How the test file is made: diskspd makes it before it reads for a second.
fn making(about: &About) -> String {
    format!("-c{} -b1048576 -d1 -W0 -o1 -t1 -w0 -Su", about.file_size.get())
}

/// The scripts, with the line ends of Windows.
pub(super) fn scripts(about: &About, steps: &[Step<'_>]) -> Vec<(String, String)> {
    let mine = |usage: &str, more: &str| {
        let mut head = about.head(usage, "by default the script's own");
        let own = [
            "Run it without the rights of an administrator: diskspd then writes the test file in full.",
            "With them it may take the disk's old blocks for it, and storage that knows them unwritten is too fast.",
            "What it writes is the same 256 bytes over and over: storage that compresses is too fast, too.",
            more,
        ];
        head.extend(own.map(str::to_owned));
        head
    };
    let shell_head = mine(
        "powershell -ExecutionPolicy Bypass -File measure.ps1 [-Folder FOLDER] [-DiskSpd diskspd.exe]",
        "Without -DiskSpd the diskspd.exe beside this script is taken, or else the one of PATH.",
    );
    let prompt_head = mine(
        "measure.cmd [FOLDER]",
        "The diskspd.exe beside this script is taken, or else the one of PATH. The variable DISKSPD names another.",
    );
    let shell_steps: Vec<String> = steps
        .iter()
        .map(|step| format!("    Trial {} '{}' {} '{}'\n", step.number, step.result, step.pause_s, whole(step)))
        .collect();
    let prompt_steps: Vec<String> = steps
        .iter()
        .map(|step| format!("call :trial {} {} {} \"{}\"\n", step.number, step.result, step.pause_s, whole(step)))
        .collect();
    let filled = |text: &str, steps: &str, head: &str| {
        text.replace("@HEAD@", head.trim_end())
            .replace("@MAKE@", &making(about))
            .replace("@FILE@", TEST_FILE)
            .replace("@STEPS@\n", steps)
            .replace("@COUNT@", &about.steps.to_string())
            .replace('\n', "\r\n")
    };
    let rem: String = prompt_head.iter().map(|line| format!("rem {line}").trim_end().to_owned() + "\n").collect();
    let own = shell_head.join("\n");
    vec![
        ("measure.ps1".to_owned(), filled(POWERSHELL, &shell_steps.concat(), &own)),
        ("measure.cmd".to_owned(), filled(PROMPT, &prompt_steps.concat(), &rem)),
    ]
}

const POWERSHELL: &str = r#"<#
@HEAD@
#>
param([string]$Folder, [string]$DiskSpd)

if (-not $Folder) { $Folder = $PSScriptRoot }
if (-not $DiskSpd) {
    $DiskSpd = Join-Path $PSScriptRoot 'diskspd.exe'
    if (-not (Test-Path -LiteralPath $DiskSpd)) { $DiskSpd = 'diskspd.exe' }
}
if (Test-Path -LiteralPath $DiskSpd -PathType Leaf) {
    $DiskSpd = (Resolve-Path -LiteralPath $DiskSpd).ProviderPath
} elseif (-not (Get-Command $DiskSpd -CommandType Application -ErrorAction SilentlyContinue)) {
    Write-Warning "there is no ${DiskSpd}: lay it beside this script, or name it with -DiskSpd PATH"
    exit 2
}
if (-not (Test-Path -LiteralPath $Folder -PathType Container)) {
    Write-Warning "$Folder is no folder: name another with -Folder"
    exit 2
}
$file = Join-Path (Resolve-Path -LiteralPath $Folder).ProviderPath '@FILE@'
if (Test-Path -LiteralPath $file) {
    Write-Warning "$file is there already: remove it, or name another folder with -Folder"
    exit 2
}
$failed = 0

function Make {
    Write-Host "making $file"
    $words = '@MAKE@' -split ' '
    & $DiskSpd @words $file | Out-Null
    if ($LASTEXITCODE -ne 0) {
        Write-Warning "diskspd cannot make $file (status $LASTEXITCODE)"
        exit 1
    }
}

function Trial([int]$Number, [string]$Name, [int]$Pause, [string]$Options) {
    $result = Join-Path $PSScriptRoot "$Name.xml"
    if (Test-Path -LiteralPath $result) { return }
    if (-not (Test-Path -LiteralPath $file)) { Make }
    if ($Pause -gt 0) { Start-Sleep -Seconds $Pause }
    Write-Host "$Number of @COUNT@: $Name"
    $words = $Options -split ' '
    $text = @(& $DiskSpd @words $file)
    # What Ctrl-C ended begins with that, and has status 0.
    if ($LASTEXITCODE -ne 0 -or $text[0] -ne '<Results>') {
        Write-Warning "${Name}: diskspd failed with status $LASTEXITCODE"
        $script:failed++
        return
    }
    [IO.File]::WriteAllLines($result, [string[]]$text)
}

try {
@STEPS@
} finally {
    # After Ctrl-C diskspd holds the file for a moment.
    for ($i = 0; $i -lt 50 -and (Test-Path -LiteralPath $file); $i++) {
        Remove-Item -LiteralPath $file -ErrorAction SilentlyContinue
        if (Test-Path -LiteralPath $file) { Start-Sleep -Milliseconds 200 }
    }
}
if ($failed -gt 0) {
    Write-Warning "$failed of @COUNT@ commands failed: run it again to try these alone"
    exit 1
}
"#;

const PROMPT: &str = r#"@echo off
@HEAD@
setlocal
set "here=%~dp0"
set "folder=%~f1"
if "%~1"=="" set "folder=%here%"
for %%i in ("%folder%\.") do set "folder=%%~fi"
if not "%folder:~-1%"=="\" set "folder=%folder%\"
rem Quotes around the name are no part of it.
if defined DISKSPD set "DISKSPD=%DISKSPD:"=%"
if not defined DISKSPD if exist "%here%diskspd.exe" set "DISKSPD=%here%diskspd.exe"
if not defined DISKSPD set "DISKSPD=diskspd.exe"
set "file=%folder%@FILE@"
set failed=0
set "ended="
if not exist "%folder%" (
    >&2 echo measure.cmd: "%folder%" is no folder: name another
    exit /b 2
)
if exist "%file%" (
    >&2 echo measure.cmd: "%file%" is there already, as after a Ctrl-C: remove it, or name another folder
    exit /b 2
)
@STEPS@
if exist "%file%" del "%file%"
if defined ended exit /b %ended%
if %failed% neq 0 (
    >&2 echo measure.cmd: %failed% of @COUNT@ commands failed: run it again to try these alone
    exit /b 1
)
exit /b 0

rem NUMBER RESULT PAUSE OPTIONS
:trial
if defined ended exit /b 0
if exist "%here%%~2.xml" exit /b 0
if not exist "%file%" call :make
if defined ended exit /b 0
rem A ping each second is a pause that needs no keyboard.
set /a pings=%~3+1
if not "%~3"=="0" ping -n %pings% 127.0.0.1 >nul
echo %~1 of @COUNT@: %~2
"%DISKSPD%" %~4 "%file%" >"%here%%~2.part"
set status=%errorlevel%
rem What Ctrl-C ended has status 0, too.
"%SystemRoot%\System32\find.exe" "Interrupted by Ctrl-C" "%here%%~2.part" >nul
if %errorlevel% equ 0 set status=1
if %status% neq 0 (
    >&2 echo measure.cmd: %~2: diskspd failed, see "%here%%~2.part"
    set /a failed+=1
    exit /b 0
)
move /y "%here%%~2.part" "%here%%~2.xml" >nul
exit /b 0

:make
echo making "%file%"
"%DISKSPD%" @MAKE@ "%file%" >nul
set status=%errorlevel%
if %status% equ 0 exit /b 0
set ended=1
if %status% equ 9009 set ended=2
if %ended% equ 1 (
    >&2 echo measure.cmd: diskspd cannot make "%file%"
) else (
    >&2 echo measure.cmd: there is no "%DISKSPD%": lay it beside this script, or name it by the variable DISKSPD
)
exit /b 0
"#;
