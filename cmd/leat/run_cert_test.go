package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// certify writes a certificate of 127.0.0.1 with a serial number, and its key, to dir, and
// returns what trusts it.
func certify(t *testing.T, dir string, serial int64) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	made, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(made)
	return pool
}

// A daemon serves HTTPS by the certificate of its file; a new one counts from SIGHUP on, and
// one that is broken leaves the old one.
//
//leat:level 2
func TestRun_Certificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := certify(t, dir, 1)
	s := newSession(t, newShop(t).URL)
	d := s.begin("run", "--config", written(t, "leat.yaml", fmt.Sprintf(`
outboxes: [{name: shop, maintenance: {}}]
http: {listen: '127.0.0.1:0', cert_file: '%[1]s/cert.pem', key_file: '%[1]s/key.pem'}
`, dir)))
	trusted := func(roots *x509.CertPool) bool {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(d.url, "http://"), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}
	require.True(t, trusted(first))
	address := strings.TrimPrefix(d.url, "http://")
	d.eventually("is healthy by a certificate of its own", func() bool {
		return s.leat("health", "--url", "https://"+address, "--ca-file", dir+"/cert.pem").out == "ok\n"
	})
	require.Equal(t, 1, s.leat("health", "--url", "https://"+address).code, "nobody vouches for it")
	inFile := written(t, "leat.yaml", fmt.Sprintf("http: {listen: '%[2]s', cert_file: '%[1]s/cert.pem', key_file: '%[1]s/key.pem'}", dir, address))
	require.Equal(t, "ok\n", s.leat("health", "--config", inFile).out)
	for reason, args := range map[string][]string{
		`--ca-file "x": needs --url`:              {"--ca-file", "x"},
		`--ca-file "` + dir + `/key.pem": has no`: {"--url", "https://" + address, "--ca-file", dir + "/key.pem"},
		`--ca-file "none": open none`:             {"--url", "https://" + address, "--ca-file", "none"},
	} {
		r := s.leat(append([]string{"health"}, args...)...)
		require.Equal(t, 2, r.code, r.err)
		require.Contains(t, r.err, reason)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), []byte("no key"), 0o600))
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	d.eventually("refuses what is broken", func() bool { return strings.Contains(d.log.String(), "not reloaded") })
	require.True(t, trusted(first))

	second := certify(t, dir, 2)
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	d.eventually("serves the new one", func() bool { return trusted(second) })
	require.False(t, trusted(first))
	require.Zero(t, d.ends(syscall.SIGTERM), d.log)
}
