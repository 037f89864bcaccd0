"""Applies the server's sandbox plan to this process, which was forked and not executed.

The server decides everything: the plan lists the steps with the numbers that Linux
uses for them. The warm parent imports this module, so that its forks need not.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import stat
import struct
from binascii import a2b_base64

import _socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Plan = dict[str, Any]
    Ruleset = dict[str, Any]

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_MS_RDONLY = 0x1
_MS_NOSUID = 0x2
_MS_NODEV = 0x4
_MS_NOEXEC = 0x8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
_MOUNT_ATTR_RDONLY = 0x1
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41
_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
# These system calls have the same numbers on every machine.
_MOUNT_SETATTR = 442
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH, _RULE_NET_PORT, _CONNECT_TCP = 1, 2, 2

# The /proc of a PID namespace, as package sandbox mounts it.
_PROC_MOUNT = {
    "source": "", "type": "proc", "target": "/proc", "data": "hidepid=ptraceable", "read_only": True, "kept": None,
}  # fmt: skip

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.argtypes = [ctypes.c_long, *[ctypes.c_void_p] * 5]
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 4]
_libc.mount.argtypes = [*[ctypes.c_char_p] * 3, ctypes.c_ulong, ctypes.c_char_p]


def apply_plan(plan: Plan, has_pid_namespace: bool = False) -> None:
    """Confines this process as a sandbox plan says. The steps cannot be undone.

    With has_pid_namespace, fork_into_pid_namespace has already made the namespaces.

    Raises OSError that names the step that failed: the process is then only partly confined and
    must end. Raises RuntimeError if the process has more than one thread, because the others would
    not be confined, and if the plan has a listener, which only agents get.
    """
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a process with several threads cannot be sandboxed")
    if plan["listener"]:
        raise RuntimeError("a forked process cannot hand over a listener")
    if not has_pid_namespace:
        _make_namespaces(plan["namespaces"])
    mounts: list[dict[str, Any]] = plan["mounts"] or []
    if has_pid_namespace:  # before those that hide files of /proc, after which Linux refuses it
        first_hiding = next((i for i, mount in enumerate(mounts) if mount["source"]), len(mounts))
        mounts = [*mounts[:first_hiding], _PROC_MOUNT, *mounts[first_hiding:]]
    _set_up_mounts(plan["namespaces"], plan["writable"] or [], mounts)
    if plan["loopback"]:
        _bring_up_loopback()
    _call_prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if plan["landlock"]:
        _apply_landlock(plan["landlock"])
    _drop_capabilities(plan["bounding"])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if plan["filter"]:
        _install_seccomp_filter(a2b_base64(plan["filter"]))
    for limit in plan["limits"] or []:
        _lower_resource_limit(limit["resource"], limit["value"])


def adopt_orphans() -> None:
    """Makes processes children of this one whose parents, which this process has started, have ended."""
    _call_prctl(_PR_SET_CHILD_SUBREAPER, 1)


def fork_into_pid_namespace(namespaces: int, control: int) -> tuple[int, int]:
    """Enters new Linux namespaces, and forks the first process of a PID namespace and another one.

    Returns their ids in this process, and zeros in the second one. The first process obeys the server, at the
    other end of the socket control: see the Go package sandbox. Raises OSError.
    """
    _make_namespaces(namespaces | _CLONE_NEWPID)
    first = os.fork()
    if first == 0:
        try:
            _be_first_process(control)
        finally:
            os._exit(0)
    try:
        program = os.fork()
    except OSError:
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)
        raise
    return (first, program) if program else (0, 0)


def _be_first_process(control: int) -> None:
    """Carries out the server's commands until it closes the socket. When this process ends, Linux kills its namespace."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.setsid()
    _call_prctl(_PR_SET_DUMPABLE, 0)  # so that no process of the sandbox can reach into it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Linux then frees processes that have lost their parents
    os.dup2(control, 0)
    os.closerange(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    while command := os.read(0, 1):
        os.kill(-1, signal.SIGSTOP if command == b"S" else signal.SIGCONT)  # all but this one
        os.write(0, command)


def _make_namespaces(namespaces: int) -> None:
    """Enters new Linux namespaces, in which the user keeps uid and gid. Raises OSError."""
    has_user_namespace = namespaces & _CLONE_NEWUSER
    uid, gid = os.geteuid(), os.getegid()
    if namespaces:
        _check_result("make namespaces", _libc.unshare(namespaces))
    if has_user_namespace:
        _write_file("/proc/self/setgroups", "deny")
        _write_file("/proc/self/uid_map", f"{uid} {uid} 1")
        _write_file("/proc/self/gid_map", f"{gid} {gid} 1")


def _set_up_mounts(
    namespaces: int, writable_paths: list[str], mounts: list[dict[str, Any]]
) -> None:
    """Mounts file systems in the mount namespace. If there are writable paths, everything else becomes read-only first.

    Raises OSError.
    """
    if namespaces & _CLONE_NEWNS:
        _mount_file_system("none", "/", "", _MS_REC | _MS_PRIVATE, "")
    if writable_paths:
        _make_read_only_except(writable_paths)
    for mount in mounts:
        if mount["source"]:
            _mount_file_system(mount["source"], mount["target"], "", _MS_BIND, "")
            continue
        read_only = _MS_RDONLY | _MS_NODEV | _MS_NOEXEC if mount["read_only"] else 0
        flags = _MS_NOSUID | read_only
        if mount["kept"]:
            _mount_around(mount["kept"], mount["type"], mount["target"], flags, mount["data"])
            continue
        _mount_file_system(mount["type"], mount["target"], mount["type"], flags, mount["data"])
    folder = os.getcwd()  # still the one below the new mounts
    if folder in writable_paths:
        os.chdir(folder)


def _mount_around(kept: list[str], file_system: str, target: str, flags: int, data: str) -> None:
    """Mounts a file system in which the kept paths appear, and gives it the flags afterwards. Raises OSError."""
    files = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in kept]  # the new file system hides them
    try:
        _mount_file_system(file_system, target, file_system, _MS_NOSUID, data)
        for path, file in zip(kept, files):
            _bind_kept(file, path)
        _mount_file_system("", target, "", _MS_REMOUNT | _MS_BIND | flags, "")
    finally:
        for file in files:
            os.close(file)


def _bind_kept(file: int, path: str) -> None:
    """Makes an open file or folder appear at its path again, unless it is there already. Raises OSError."""
    if os.path.lexists(path):
        return  # below another one that is kept
    if stat.S_ISDIR(os.fstat(file).st_mode):
        os.makedirs(path, 0o700)
    else:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC, 0o600))
    _mount_file_system(f"/proc/self/fd/{file}", path, "", _MS_BIND | _MS_REC, "")


def _make_read_only_except(paths: list[str]) -> None:
    """Makes all file systems of the mount namespace read-only, except for some files and folders. Raises OSError."""
    for path in paths:  # flags can then be set for it alone
        _mount_file_system(path, path, "", _MS_BIND | _MS_REC, "")
    _change_mount_flags("/", _AT_RECURSIVE, added=_MOUNT_ATTR_RDONLY)
    for path in paths:  # not for the mounts below: one that was read-only before may be locked
        _change_mount_flags(path, 0, removed=_MOUNT_ATTR_RDONLY)


def _change_mount_flags(path: str, how: int, added: int = 0, removed: int = 0) -> None:
    attributes = struct.pack("QQQQ", added, removed, 0, 0)
    arguments = _AT_FDCWD, os.fsencode(path), how, attributes, len(attributes)
    _call_syscall(f"change the flags of {path}", _MOUNT_SETATTR, *arguments)


def _mount_file_system(source: str, target: str, file_system: str, flags: int, data: str) -> None:
    arguments = os.fsencode(source), os.fsencode(target), file_system.encode(), flags, data.encode()
    _check_result(f"mount {target}", _libc.mount(*arguments))


def _bring_up_loopback() -> None:
    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    try:
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _IFF_UP_RUNNING))
    finally:
        sock.close()


def _apply_landlock(rules: Ruleset) -> None:
    """Restricts this process, by Landlock, to the paths, ports and scopes of a ruleset. Raises OSError."""
    attributes = struct.pack("QQQ", rules["files"], rules["ports"], rules["scoped"])
    ruleset = _call_syscall("make a landlock ruleset", _CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in rules["paths"]:
            _allow_path(ruleset, path["path"], path["access"])
        if rules["connect"]:
            rule = struct.pack("QQ", _CONNECT_TCP, rules["connect"])
            _call_syscall("allow a port", _ADD_RULE, ruleset, _RULE_NET_PORT, rule, 0)
        _call_syscall("restrict by landlock", _RESTRICT_SELF, ruleset, rules["flags"])
    finally:
        os.close(ruleset)


def _allow_path(ruleset: int, path: str, access: int) -> None:
    """Adds a rule to a Landlock ruleset that allows access beneath a path.

    A path that is missing or cannot be opened is skipped. Raises OSError if the rule is refused.
    """
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        rule = struct.pack("=Qi", access, beneath)
        _call_syscall(f"allow {path}", _ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(beneath)


def _drop_capabilities(bounding: int) -> None:
    """Drops all capabilities of this process, and removes those below the number bounding from the bounding set."""
    for capability in range(bounding):
        _check_result("drop capabilities", _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0))
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _check_result("drop capabilities", _libc.capset(header, bytes(24)))


def _install_seccomp_filter(program: bytes) -> None:
    """Installs a seccomp filter, given as a BPF program with 8 bytes an instruction. Raises OSError."""
    code = ctypes.create_string_buffer(program, len(program))
    filter_program = struct.pack("HP", len(program) // 8, ctypes.addressof(code))
    _call_prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, filter_program)


def _lower_resource_limit(which: int, value: int) -> None:
    """Sets a resource limit of this process to value, unless the limit is lower already."""
    _, maximum = resource.getrlimit(which)
    if maximum == resource.RLIM_INFINITY or value < maximum:
        maximum = value
    resource.setrlimit(which, (maximum, maximum))


def _call_prctl(option: int, *arguments: int | bytes) -> None:
    padded = [*arguments, 0, 0, 0][:4]
    _check_result(f"prctl {option}", _libc.prctl(option, *padded))


def _call_syscall(step: str, number: int, *arguments: int | bytes) -> int:
    padded = [*arguments, 0, 0, 0][:5]
    return _check_result(step, _libc.syscall(number, *padded))


def _check_result(step: str, result: int) -> int:
    """Returns the result of a C function. If it is negative, raises OSError with errno and the name of the step."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{step}: {os.strerror(number)}")
    return result


def _write_file(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
