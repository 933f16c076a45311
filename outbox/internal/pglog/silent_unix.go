//go:build unix

package pglog

import (
	"errors"
	"net"
	"syscall"
)

// silent reports whether nothing has arrived on conn, not even its end, without consuming
// anything. It does not wait: pgx may have left a goroutine that reads until something arrives,
// and a raw Read would wait for that goroutine.
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
	err = raw.Control(func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
	})
	return err == nil && nothing
}
