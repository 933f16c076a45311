package testenv

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"
)

// ServeDetached holds the services of env until somebody calls [StopDetached] or
// ctx ends, and then closes env. Ready is called when the set can be found.
func ServeDetached(ctx context.Context, env *Env, ready func()) error {
	listener, err := listenDetached(ctx)
	if err != nil {
		return errors.Join(err, env.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	ready()
	for {
		conn, err := listener.Accept()
		if err != nil { // ctx has ended
			return env.Close()
		}
		if answer(conn, env) {
			return errors.Join(listener.Close(), conn.Close())
		}
		_ = conn.Close()
	}
}

// answer serves one question and reports whether it was the last.
func answer(conn net.Conn, env *Env) (last bool) {
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	question, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return false
	}
	reply := json.NewEncoder(conn)
	switch question {
	case askServices:
		_ = reply.Encode(env.Services())
	case askStop:
		failure := ""
		if err := env.Close(); err != nil {
			failure = err.Error()
		}
		_ = reply.Encode(failure)

		return true
	}

	return false
}
