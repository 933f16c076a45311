// Package fakeredis runs a substitute for Redis, for tests on machines that do not have one.
package fakeredis

import (
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Start starts a server in this process. Pass it to testenv.PlayRedis.
func Start() (address string, stop func(), err error) {
	server, err := miniredis.Run()
	if err != nil {
		return "", nil, fmt.Errorf("miniredis: %w", err)
	}
	stopTime := passTime(server.FastForward)

	return server.Addr(), func() { stopTime(); server.Close() }, nil
}

// passTime makes keys expire, which miniredis leaves to its user. It ends when the returned function is
// called.
func passTime(forward func(time.Duration)) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-over:
				return
			case <-tick.C:
				now := time.Now()
				forward(now.Sub(last))
				last = now
			}
		}
	}()

	return func() { close(over); <-ended }
}
