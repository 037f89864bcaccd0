package peers

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// unixPeerPID returns the id of the process that made the peer's end of a Unix connection.
func unixPeerPID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("find the peer: %w", err)
	}
	var credentials *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		credentials, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, credErr); err != nil {
		return 0, fmt.Errorf("find the peer: %w", err)
	}
	return int(credentials.Pid), nil
}

// tcpSocket is what the operating system's kernel tells about a TCP socket on this machine.
type tcpSocket struct {
	inode    uint32
	cgroupID uint64 // of the cgroup (version 2) in which the socket was made; 0: not known
}

// Sizes and numbers of linux/inet_diag.h and linux/sock_diag.h.
const (
	sockDiagByFamily  = 20 // type of request and answer
	diagRequestBytes  = 56 // inet_diag_req_v2
	diagAnswerBytes   = 72 // inet_diag_msg
	diagInodeOffset   = 68 // in the answer: of the socket's inode
	diagCgroupID      = 21 // attribute: the id of the cgroup
	diagAllStates     = 0xffffffff
	attributeBytes    = 4 // header of an attribute: its length and type
	anyCookie         = 0xffffffff
	diagAnswerTimeout = 5 // seconds
)

// findTCPSocket returns the socket on this machine whose own address is local, and which is
// connected to remote. It fails with ErrGone if there is none. Where sock_diag is not offered, the
// socket is looked up in /proc/net, which does not tell its cgroup.
func findTCPSocket(local, remote netip.AddrPort) (tcpSocket, error) {
	socket, err := askSockDiag(local, remote)
	switch {
	case err == nil:
		return socket, nil
	case errors.Is(err, unix.ENOENT):
		return tcpSocket{}, ErrGone
	default:
		return findInProcNet(local, remote)
	}
}

// askSockDiag asks for a socket through sock_diag. It fails with ENOENT if there is none.
func askSockDiag(local, remote netip.AddrPort) (tcpSocket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return tcpSocket{}, fmt.Errorf("open a socket for sock_diag: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: diagAnswerTimeout}); err != nil {
		return tcpSocket{}, fmt.Errorf("sock_diag: %w", err)
	}
	if err := unix.Sendto(fd, newDiagRequest(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return tcpSocket{}, fmt.Errorf("sock_diag: %w", err)
	}
	answer := make([]byte, 8<<10)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return tcpSocket{}, fmt.Errorf("sock_diag: %w", err)
	}
	return parseDiagAnswer(answer[:n])
}

// newDiagRequest returns a netlink message that asks for one TCP socket by its two addresses.
func newDiagRequest(local, remote netip.AddrPort) []byte {
	family := byte(unix.AF_INET6)
	if local.Addr().Is4() {
		family = unix.AF_INET
	}
	const size = unix.SizeofNlMsghdr + diagRequestBytes
	b := make([]byte, 0, size)
	b = binary.NativeEndian.AppendUint32(b, size)
	b = binary.NativeEndian.AppendUint16(b, sockDiagByFamily)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence and port: one question, one answer
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, diagAllStates)
	b = binary.BigEndian.AppendUint16(b, local.Port())
	b = binary.BigEndian.AppendUint16(b, remote.Port())
	b = appendDiagAddress(b, local.Addr())
	b = appendDiagAddress(b, remote.Addr())
	b = binary.NativeEndian.AppendUint32(b, 0) // any interface
	b = binary.NativeEndian.AppendUint32(b, anyCookie)
	return binary.NativeEndian.AppendUint32(b, anyCookie)
}

// appendDiagAddress appends an IP address, in 16 bytes.
func appendDiagAddress(b []byte, ip netip.Addr) []byte {
	var field [16]byte
	copy(field[:], ip.AsSlice())
	return append(b, field[:]...)
}

// parseDiagAnswer returns the socket that an answer describes, or its error.
func parseDiagAnswer(answer []byte) (tcpSocket, error) {
	messages, err := syscall.ParseNetlinkMessage(answer)
	if err != nil || len(messages) == 0 {
		return tcpSocket{}, fmt.Errorf("sock_diag: a malformed answer of %d bytes", len(answer))
	}
	data := messages[0].Data
	if messages[0].Header.Type == unix.NLMSG_ERROR && len(data) >= 4 {
		return tcpSocket{}, fmt.Errorf("sock_diag: %w", syscall.Errno(-int32(binary.NativeEndian.Uint32(data)))) //nolint:gosec // a negative errno
	}
	if len(data) < diagAnswerBytes {
		return tcpSocket{}, fmt.Errorf("sock_diag: an answer of %d bytes, want at least %d", len(data), diagAnswerBytes)
	}
	socket := tcpSocket{inode: binary.NativeEndian.Uint32(data[diagInodeOffset:])}
	for rest := data[diagAnswerBytes:]; len(rest) >= attributeBytes; {
		length, kind := int(binary.NativeEndian.Uint16(rest)), binary.NativeEndian.Uint16(rest[2:])
		if length < attributeBytes || length > len(rest) {
			break
		}
		if kind == diagCgroupID && length >= attributeBytes+8 {
			socket.cgroupID = binary.NativeEndian.Uint64(rest[attributeBytes:])
		}
		rest = rest[min(len(rest), (length+3)&^3):]
	}
	return socket, nil
}

// findInProcNet returns a socket, without its cgroup, from the tables of /proc/net. It fails with
// ErrGone if it is in none.
func findInProcNet(local, remote netip.AddrPort) (tcpSocket, error) {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a machine without IPv6
		}
		if err != nil {
			return tcpSocket{}, err
		}
		for line := range strings.Lines(string(text)) {
			// "0: 0100007F:1F90 0100007F:C350 01 … uid timeout inode …"
			fields := strings.Fields(line)
			if len(fields) < 10 || parseProcNetAddress(fields[1]) != local || parseProcNetAddress(fields[2]) != remote {
				continue
			}
			inode, err := strconv.ParseUint(fields[9], 10, 32)
			return tcpSocket{inode: uint32(inode)}, err
		}
	}
	return tcpSocket{}, ErrGone
}

// parseProcNetAddress returns the address that a table of /proc/net writes as ADDRESS:PORT in
// hexadecimal digits, with the address in words of four bytes in the machine's byte order. It
// returns the zero AddrPort if text is none.
func parseProcNetAddress(text string) netip.AddrPort {
	address, port, _ := strings.Cut(text, ":")
	words, err := hex.DecodeString(address)
	number, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(words)%4 != 0 {
		return netip.AddrPort{}
	}
	ip := make([]byte, 0, len(words))
	for ; len(words) > 0; words = words[4:] {
		ip = binary.NativeEndian.AppendUint32(ip, binary.BigEndian.Uint32(words))
	}
	addr, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(number))
}
