//go:build !unix

package pglog

import "net"

// silent returns false, so that callers go on as if something had arrived: other systems offer no peek.
func silent(net.Conn) bool { return false }
