//go:build unix

package pglog

import (
	"errors"
	"net"
	"syscall"
)

// silent reports whether nothing has come on conn, not even its end, without taking anything off.
func silent(conn net.Conn) bool {
	c, ok := socket(conn).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		nothing = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
		return true // do not wait
	})
	return err == nil && nothing
}
