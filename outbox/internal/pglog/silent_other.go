//go:build !unix

package pglog

import "net"

// silent cannot tell here.
func silent(net.Conn) bool { return false }
