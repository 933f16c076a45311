package testenv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"
)

// RabbitEnv is a test's own part of a RabbitMQ server: a virtual host, deleted with its contents
// when the test ends.
type RabbitEnv struct {
	// URL is the address of the virtual host.
	URL string
	// VHost is the name of the virtual host.
	VHost string
	// Version is the broker's version.
	Version string

	api rabbitAPI
}

// Rabbit returns a virtual host on the shared broker. If there is no broker the test is skipped; in
// CI it fails.
func Rabbit(tb testing.TB) *RabbitEnv {
	tb.Helper()
	service, err := shared.service(context.Background(), KindRabbit)
	Available(tb, err)
	shared.slot(KindRabbit).announce.Do(func() { tb.Log("this run uses ", service.line()) })

	return rabbitVHost(tb, service.Address, service.Version)
}

// rabbitVHost makes a virtual host on the broker at address.
func rabbitVHost(tb testing.TB, address, version string) *RabbitEnv {
	tb.Helper()
	api, u, err := rabbitAPIOf(address)
	if err != nil {
		tb.Fatal(err)
	}
	name := "leat-test-" + uniqueName()
	path := "/vhosts/" + url.PathEscape(name)
	if err := api.do(context.Background(), http.MethodPut, path, ""); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := api.do(ctx, http.MethodDelete, path, ""); err != nil {
			tb.Errorf("delete the test's virtual host: %v", err)
		}
	})
	u.Path, u.RawQuery = "/"+name, ""

	return &RabbitEnv{URL: u.String(), VHost: name, Version: version, api: api}
}

// RabbitServer is a broker that only one test uses, which can kill, restart and starve it. It is removed
// when the test ends. Its methods fail the test on errors, so call them from the test's goroutine.
type RabbitServer struct {
	private

	// URL is the address of the broker's default virtual host. It stays the same across restarts.
	URL string
	// Version is the broker's version.
	Version string
}

// PrivateRabbit starts a broker for the test alone. conf has lines to add to rabbitmq.conf, such as
// "max_message_size = 1000". It takes some ten seconds. Without RabbitMQ the test is skipped; in CI it
// fails.
func PrivateRabbit(tb testing.TB, conf string) *RabbitServer {
	tb.Helper()
	s := startPrivate(tb, "RabbitMQ", func(ctx context.Context) (*Own, error) { return OwnRabbit(ctx, conf) })
	_, u, err := rabbitAPIOf(s.own.Address)
	if err != nil {
		tb.Fatal(err)
	}
	u.RawQuery = ""

	return &RabbitServer{private: s, URL: u.String(), Version: s.own.Version}
}

// Kill ends the broker with SIGKILL and waits until it has exited.
func (s *RabbitServer) Kill() {
	s.tb.Helper()
	s.end(syscall.SIGKILL)
}

// Starve makes the broker believe that its memory is full, so that it blocks publishers until Feed.
func (s *RabbitServer) Starve() { s.watermark("0.0000001") }

// Feed ends the effect of Starve.
func (s *RabbitServer) Feed() { s.watermark("0.4") }

// Sync makes the broker write its internal tables to disk, including the names of quorum queues. As of
// RabbitMQ 3.10, the declaration of a queue does not wait for that: Ra, which stores the names, writes
// them later.
func (s *RabbitServer) Sync() {
	s.tb.Helper()
	s.control("eval", "[dets:sync(T) || T <- dets:all()].")
}

func (s *RabbitServer) watermark(fraction string) {
	s.tb.Helper()
	s.control("set_vm_memory_high_watermark", fraction)
}

// control runs rabbitmqctl on the broker.
func (s *RabbitServer) control(args ...string) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	kind, ok := s.own.server.kind.(rabbitServer)
	if !ok {
		s.tb.Fatal(errors.New("testenv: the server is not a RabbitMQ"))
	}
	if err := kind.control(ctx, s.own.server.dir, args...); err != nil {
		s.tb.Fatal(err)
	}
}

// User returns the address of the virtual host for a new user. permissions is a JSON object such as
// {"configure":"","write":".*","read":""}.
func (e *RabbitEnv) User(tb testing.TB, permissions string) (address string) {
	tb.Helper()
	api, name, ctx := e.api, e.VHost, context.Background()
	err := errors.Join(
		api.do(ctx, http.MethodPut, "/users/"+name, `{"password":"secret","tags":""}`),
		api.do(ctx, http.MethodPut, "/permissions/"+e.VHost+"/"+name, permissions))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := api.do(ctx, http.MethodDelete, "/users/"+name, ""); err != nil {
			tb.Errorf("delete the test's user: %v", err)
		}
	})
	u, err := url.Parse(e.URL)
	if err != nil {
		tb.Fatal(err)
	}
	u.User = url.UserPassword(name, "secret")

	return u.String()
}

// Topics restricts the user that User has created: when it writes to a topic exchange, its routing keys
// must match a pattern.
func (e *RabbitEnv) Topics(tb testing.TB, exchange, pattern string) {
	tb.Helper()
	rights := fmt.Sprintf(`{"exchange":%q,"write":%q,"read":""}`, exchange, pattern)
	path := "/topic-permissions/" + e.VHost + "/" + e.VHost
	if err := e.api.do(context.Background(), http.MethodPut, path, rights); err != nil {
		tb.Fatal(err)
	}
}

// resolveRabbit tries the sources of RabbitMQ in order. It has no substitute.
func resolveRabbit(ctx context.Context) (Service, error) {
	if address := os.Getenv(EnvRabbit); address != "" {
		return rabbitAt(ctx, address, "address in "+EnvRabbit)
	}
	if s, ok := detached(ctx, KindRabbit); ok {
		if s, err := rabbitAt(ctx, s.Address, "detached set"); err == nil {
			return s, nil
		}
	}
	if s, err := rabbitAt(ctx, "amqp://guest:guest@127.0.0.1:5672/", "already running on the standard port"); err == nil {
		return s, nil
	}
	s, _, err := startRabbit(ctx, "")

	return s, err
}

// rabbitAt describes the broker at an address that accepts our login and has its management.
func rabbitAt(ctx context.Context, address, origin string) (Service, error) {
	api, u, err := rabbitAPIOf(address)
	if err != nil {
		return Service{}, err
	}
	host := u.Host
	if u.Port() == "" {
		host += ":5672"
	}
	version, _, err := inspectRabbit(ctx, host)
	if err != nil {
		return Service{}, err
	}
	if err := api.do(ctx, "GET", "/vhosts", ""); err != nil {
		return Service{}, err
	}

	return Service{Kind: KindRabbit, Address: address, Version: version, Origin: origin, Real: true}, nil
}
