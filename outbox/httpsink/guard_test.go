package httpsink_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
)

func TestGuard_Addresses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "0.0.0.0", "0.1.2.3",
		"100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.1.1.1",
		"240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1",
		"2001::1", "2002:7f00:1::", "2002:808:808::", "3fff::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
		"64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "100::1", "::ffff:0:127.0.0.1",
	} {
		require.ErrorIs(t, httpsink.Config{}.Refuse(netip.MustParseAddr(bad)), httpsink.ErrAddress, bad)
	}
	for _, good := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808"} {
		require.NoError(t, httpsink.Config{}.Refuse(netip.MustParseAddr(good)), good)
	}
	allowed := httpsink.Config{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	require.NoError(t, allowed.Refuse(netip.MustParseAddr("10.1.2.3")))
	require.NoError(t, allowed.Refuse(netip.MustParseAddr("::ffff:10.1.2.3")))
	require.Error(t, allowed.Refuse(netip.MustParseAddr("10.2.0.1")))
}

// TestGuard_Names: a name that resolves to a local address is refused when it is dialled,
// and nothing arrives.
func TestGuard_Names(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(r.URL, "http://"))
	require.NoError(t, err)
	s, err := httpsink.New(httpsink.Static{"t": at("http://localhost:" + port)}, httpsink.Config{AllowHTTP: true})
	require.NoError(t, err)
	results := s.Send(t.Context(), []outbox.Record{record(1, "a")})
	require.ErrorIs(t, results[0].Err, httpsink.ErrAddress)
	require.Equal(t, []string{"outage"}, kinds(results))
	require.Empty(t, r.ids())
	require.Zero(t, r.dialled())

	_, err = httpsink.New(httpsink.Static{"t": at("https://127.0.0.1/")}, httpsink.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "127.0.0.1")
	_, err = httpsink.New(httpsink.Static{"t": at("https://[::ffff:169.254.169.254]/")}, httpsink.Config{})
	require.ErrorContains(t, err, "not allowed")
}

// TestGuard_Rebinding: the name resolves to an allowed address first, and to another one
// as soon as a new connection is needed.
func TestGuard_Rebinding(t *testing.T) {
	t.Parallel()
	r := &receiver{}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
	require.NoError(t, err)
	r.Server = httptest.NewUnstartedServer(r)
	r.Listener = listener
	r.Start()
	t.Cleanup(r.Close)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	var last atomic.Uint32
	last.Store(1)
	resolver := &net.Resolver{PreferGo: true, Dial: nameServer(t, func() [4]byte { return [4]byte{127, 0, 0, byte(last.Load())} })}

	cfg := httpsink.Config{AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	s, err := httpsink.NewResolved(httpsink.Static{"t": at("http://hooks.example.com:" + port)}, cfg, resolver)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.Equal(t, []string{"ok"}, kinds(s.Send(t.Context(), []outbox.Record{record(1, "a")})))
	last.Store(2)
	r.CloseClientConnections()
	results := s.Send(t.Context(), []outbox.Record{record(2, "a")})
	for errorIsBroken(results[0].Err) { // the old connection was taken before its end was seen
		results = s.Send(t.Context(), []outbox.Record{record(2, "a")})
	}
	require.ErrorIs(t, results[0].Err, httpsink.ErrAddress)
	require.Equal(t, []string{"id-1"}, r.ids())
}

func errorIsBroken(err error) bool {
	return err != nil && !strings.Contains(err.Error(), "address is not allowed") && outbox.KindOf(err) == outbox.FailureOutage
}

// nameServer answers questions for an address (A) with that of address, and others with
// nothing.
func nameServer(t *testing.T, address func() [4]byte) func(ctx context.Context, network, _ string) (net.Conn, error) {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			question := buf[12:n]
			end := strings.IndexByte(string(question), 0) + 5 // name, type, class
			answer := append([]byte(nil), buf[:12]...)
			binary.BigEndian.PutUint16(answer[2:], 0x8180)
			clear(answer[6:12])
			answer = append(answer, question[:end]...)
			if binary.BigEndian.Uint16(question[end-4:]) == 1 {
				answer[7] = 1
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				a := address()
				answer = append(answer, a[:]...)
			}
			_, _ = conn.WriteTo(answer, from)
		}
	}()
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}
}

// TestProxy: if there is one it makes the connections; that of the environment is not
// used, whatever it is.
func TestProxy(t *testing.T) {
	t.Parallel()
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.String()) }))
	t.Cleanup(proxy.Close)
	u, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	s, err := httpsink.New(httpsink.Static{"t": at("http://hooks.example.com/x")}, httpsink.Config{AllowHTTP: true, Proxy: u})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.Equal(t, []string{"ok"}, kinds(s.Send(t.Context(), []outbox.Record{record(1, "a")})))
	require.Equal(t, []string{"http://hooks.example.com/x"}, asked)
	_, err = httpsink.New(httpsink.Static{"t": at("http://169.254.169.254/x")}, httpsink.Config{AllowHTTP: true, Proxy: u})
	require.ErrorContains(t, err, "not allowed")
}
