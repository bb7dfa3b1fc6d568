#!/bin/sh
@HEAD@set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
fio=${FIO:-fio}
file=@FILE@
failed=0
command -v "$fio" > /dev/null || { echo "measure.sh: there is no $fio: install it, or name it with FIO=PATH" >&2; exit 2; }
cd -- "${1:-$here}" || { echo "measure.sh: ${1:-$here} is no folder that can be measured: name another" >&2; exit 2; }
if [ -e "$file" ] || [ -L "$file" ]; then
    echo "measure.sh: $file is there already: remove it, or name another folder" >&2
    exit 2
fi
trap 'rm -f -- "$file"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# NUMBER CELL TRIAL PAUSE DROP: the trial of a cell after so many seconds, and whether the machine's caches are dropped where that is allowed.
trial() {
    result=$here/$2-$3.json
    if [ -s "$result" ]; then return; fi
@FILL@
    if [ "$4" -gt 0 ]; then sleep "$4"; fi
    if [ "$5" = 1 ]; then { sync; echo 3 > /proc/sys/vm/drop_caches; } 2> /dev/null; fi
    echo "$1 of @COUNT@: $2, trial $3"
    if "$fio" --output-format=json+ --output="$result.part" "$here/$2.fio"; then
        mv -- "$result.part" "$result"
    else
        echo "measure.sh: $2, trial $3: fio failed, and said why in $result.part" >&2
        failed=$((failed + 1))
    fi
}


@CALLS@
if [ "$failed" -gt 0 ]; then
    echo "measure.sh: $failed of @COUNT@ commands failed: run it again to try these alone" >&2
    exit 1
fi
