package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// separate gives the calling thread namespaces of its own, unless it was started
// in them, and furnishes them.
func (p Plan) separate() error {
	if p.Namespaces != 0 && p.Namespaces&unix.CLONE_NEWUSER == 0 {
		if err := unix.Unshare(int(p.Namespaces)); err != nil {
			return fmt.Errorf("make namespaces: %w", err)
		}
	}
	if p.Namespaces&unix.CLONE_NEWNS != 0 {
		if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("keep mounts private: %w", err)
		}
	}
	for _, mount := range p.Mounts {
		if err := unix.Mount(mount.Type, mount.Target, mount.Type, unix.MS_NOSUID, mount.Data); err != nil {
			return fmt.Errorf("mount %s: %w", mount.Target, err)
		}
	}
	if p.RaiseLoopback {
		return raiseLoopback()
	}
	return nil
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a socket: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	return nil
}
