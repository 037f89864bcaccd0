package peers

import "net/netip"

// InodesOf returns the inode of a socket according to sock_diag and according to /proc/net.
func InodesOf(local, remote netip.AddrPort) (asked, read uint32, err error) {
	socket, err := askSockDiag(local, remote)
	if err != nil {
		return 0, 0, err
	}
	listed, err := findInProcNet(local, remote)
	return socket.inode, listed.inode, err
}
