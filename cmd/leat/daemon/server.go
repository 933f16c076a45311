package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// server is a listener of a daemon.
type server struct {
	http     *http.Server
	listener net.Listener
	address  string
}

// listen opens the listeners, all or none.
func (d *Daemon) listen(ctx context.Context) error {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() != "/metrics" {
			http.NotFound(w, r)
			return
		}
		if !d.ownHost(r.Host) {
			misdirected(w, r)
			return
		}
		d.cfg.MetricsHandler.ServeHTTP(w, r)
	})
	d.bound.Lock()
	defer d.bound.Unlock()
	for _, l := range []struct {
		what, address string
		tls           *tls.Config
		handler       http.Handler
	}{{"probes", d.cfg.Listen, d.cfg.TLS, d}, {"metrics", d.cfg.MetricsListen, nil, metrics}} {
		if l.address == "" {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", l.address)
		if err != nil {
			for _, s := range d.servers {
				_ = s.listener.Close()
			}
			return fmt.Errorf("leat: listener of %s: %w", l.what, err)
		}
		d.log.InfoContext(ctx, "listens", slog.String("listener", l.what), slog.String("address", listener.Addr().String()))
		s := &server{address: listener.Addr().String(), listener: listener}
		if l.tls != nil {
			s.listener = tls.NewListener(listener, l.tls)
		}
		s.http = &http.Server{
			Handler: l.handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
			ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
		}
		d.servers = append(d.servers, s)
	}
	return nil
}

// Addresses are the addresses of the listeners for probes and metrics, with the chosen port in place of :0.
// It is empty before Run.
func (d *Daemon) Addresses() []string {
	d.bound.Lock()
	defer d.bound.Unlock()
	var all []string
	for _, s := range d.servers {
		all = append(all, s.address)
	}
	return all
}

func (s *server) serve() error {
	err := s.http.Serve(s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("leat: listener at %s: %w", s.address, err)
}

// close waits a moment for answers in flight.
func (s *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}
