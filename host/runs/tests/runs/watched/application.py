"""An application that reads a block of a file now and then, and spends its time elsewhere: at what is named."""
import fcntl, hashlib, os, queue, select, socket, subprocess, sys, threading, time

folder, at = sys.argv[1:]
path = os.path.join(folder, "blocks")
with open(path, "wb") as blocks:
    blocks.write(os.urandom(8 << 20))
    os.fsync(blocks.fileno())


blocks = os.open(path, os.O_RDONLY)


def read(place=[0]):
    place[0] = (place[0] + 7919) % 2048
    os.posix_fadvise(blocks, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(blocks, 4096, place[0] * 4096)


def served(handle):
    """A server of this machine that answers each line after so long."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(16)
    if os.fork() == 0:
        while True:
            threading.Thread(target=handle, args=(listening.accept()[0],), daemon=True).start()
    return listening.getsockname()


def file_lock(lock):
    """Four processes take turns; who has the lock keeps it for a while."""
    for _ in range(3):
        if os.fork() == 0:
            break
    held = open(os.path.join(folder, "lock"), "w")
    while True:
        lock(held, fcntl.LOCK_EX)
        read()
        time.sleep(0.1)
        lock(held, fcntl.LOCK_UN)


def answers(connection):
    while connection.recv(1):
        time.sleep(0.05)
        connection.sendall(b".")


def asks(each):
    connection = socket.create_connection(served(answers))
    while True:
        connection.sendall(b"?")
        each(connection)
        read()


def serves():
    """A server with a client that asks ten times a second."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(1)
    if os.fork() == 0:
        os.execvp("python3", ["python3", "-c", CLIENT, str(listening.getsockname()[1])])
    connection = listening.accept()[0]
    while connection.recv(1):
        read()
        connection.sendall(b".")


CLIENT = """
import socket, sys, time
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    connection.sendall(b"?"); connection.recv(1); time.sleep(0.1)
"""


def pool(wait):
    """Workers take from a queue what one thread brings."""
    work = queue.Queue()

    def worker():
        while True:
            work.get()
            read()

    for _ in range(4):
        threading.Thread(target=worker, daemon=True).start()
    while True:
        wait()
        work.put(1)


def many_at_one_lock():
    """Eight threads, and one of them reads at any time."""
    lock = threading.Lock()

    def reader():
        while True:
            with lock:
                read()

    for _ in range(7):
        threading.Thread(target=reader, daemon=True).start()
    reader()


def computes():
    while True:
        digest = b""
        for _ in range(60000):
            digest = hashlib.sha256(digest).digest()
        read()


def repeated(wait):
    while True:
        wait()
        read()


def piped():
    source = subprocess.Popen(["sh", "-c", "while :; do echo; sleep 0.1; done"], stdout=subprocess.PIPE)
    repeated(source.stdout.readline)


def receives():
    connection = socket.create_connection(served(answers))

    def wait():
        connection.sendall(b"?")
        connection.recv(1)

    pool(wait)


{
    "flock": lambda: file_lock(fcntl.flock),
    "lockf": lambda: file_lock(fcntl.lockf),
    "asks": lambda: asks(lambda connection: connection.recv(1)),
    "polls": lambda: asks(lambda connection: (select.select([connection], [], []), connection.recv(1))),
    "serves": serves,
    "receives": receives,
    "piped": piped,
    "child": lambda: repeated(lambda: subprocess.run(["sleep", "0.1"])),
    "sleeps": lambda: repeated(lambda: time.sleep(0.1)),
    "pool": lambda: pool(lambda: time.sleep(0.05)),
    "computes": computes,
    "lock": many_at_one_lock,
}[at]()
