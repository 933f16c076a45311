package daemon

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// FromSystemd returns the values that systemd passes for Config.NotifySocket and Config.Watchdog. It reads
// them with lookup, such as os.LookupEnv, and returns zero values outside of systemd.
func FromSystemd(lookup func(string) (string, bool)) (socket string, watchdog time.Duration, err error) {
	socket, _ = lookup("NOTIFY_SOCKET")
	text, _ := lookup("WATCHDOG_USEC")
	if pid, ok := lookup("WATCHDOG_PID"); text == "" || ok && pid != strconv.Itoa(os.Getpid()) {
		return socket, 0, nil
	}
	micros, err := strconv.ParseInt(text, 10, 64)
	if err != nil || micros < 1 || micros > int64(time.Hour/time.Microsecond)*24 {
		return socket, 0, outbox.ConfigError("WATCHDOG_USEC", fmt.Sprintf("%q", text), "must be a number of microseconds, up to a day")
	}
	return socket, time.Duration(micros) * time.Microsecond, nil
}

// notifier reports the state of the process to the service manager, with sd_notify's protocol.
type notifier struct{ socket string }

// send sends a state. It ignores errors: a missing listener is not a reason to stop.
func (n notifier) send(state string) {
	if n.socket == "" {
		return
	}
	// A name that begins with @ is in the abstract namespace, which package net supports.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = conn.Write([]byte(state))
}

// watchdog sends the service manager a sign of life, twice as often as it expects one. It ends when the
// daemon drains: the manager has a separate limit for that.
func (d *Daemon) watchdog(ctx context.Context) error {
	for ctx.Err() == nil {
		if d.Live() == nil {
			d.notifier.send("WATCHDOG=1")
		}
		_ = wait.For(ctx, d.cfg.Watchdog/2)
	}
	return nil
}
