//go:build !unix

package pglog

import "net"

// silent is not implemented on this platform.
func silent(net.Conn) bool { return false }
