package main_test

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// gate stands before a server, and can be shut.
type gate struct {
	address string
	url     string // of a database

	mu    sync.Mutex
	shuts bool
	conns []net.Conn
}

func newGate(t *testing.T, c *pgx.ConnConfig) *gate {
	t.Helper()
	network, address := "tcp", net.JoinHostPort(c.Host, itoa(int(c.Port)))
	if strings.HasPrefix(c.Host, "/") {
		network, address = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", c.Host, c.Port)
	}
	g := gateTo(t, network, address)
	g.url = fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", url.UserPassword(c.User, c.Password), g.address, c.Database)
	return g
}

// gateTo stands before a server at an address.
func gateTo(t *testing.T, network, address string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gate{address: listener.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { g.carry(client, network, address) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		g.shut()
		serving.Wait()
	})
	return g
}

// carry carries bytes between a client and the server, until one of them ends.
func (g *gate) carry(client net.Conn, network, address string) {
	defer client.Close()
	server, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer server.Close()
	if !g.enter(client, server) {
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
			_ = way[1].Close()
		})
	}
	both.Wait()
}

func (g *gate) enter(conns ...net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(g.conns, conns...)
	return !g.shuts
}

// shut cuts all connections, and lets none through.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shuts = true
	for _, conn := range g.conns {
		_ = conn.Close()
	}
	g.conns = nil
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shuts = false
}
