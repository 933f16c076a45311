package testenv

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/wait"
)

// readyTimeout bounds the time from a server's start to its first answer.
const readyTimeout = 3 * time.Minute

// serverKind is one kind of server that this package can run.
type serverKind interface {
	// plan returns how to run a server that listens on port and lives in dir.
	plan(dir string, port int) (plan, error)
	// probe returns the version of the server on port if it answers and is ours: another run may have taken
	// the port.
	probe(ctx context.Context, dir string, port int) (version string, err error)
}

// server is a running server that this process started.
type server struct {
	kind    serverKind
	proc    *process
	dir     string
	port    int
	version string
}

// errNotOurs is returned by a probe that reached another run's server.
var errNotOurs = errors.New("testenv: another server has the port")

// serve starts a server on a free port. If another process takes the port before the server binds it,
// serve tries another port.
func serve(ctx context.Context, name string, kind serverKind) (*server, error) {
	const attempts = 4

	var errs []error
	for range attempts {
		s, err := serveOnce(ctx, name, kind)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil || !errors.Is(err, errExited) && !errors.Is(err, errNotOurs) {
			break
		}
	}

	return nil, errors.Join(errs...)
}

func serveOnce(ctx context.Context, name string, kind serverKind) (*server, error) {
	root := workRoot()
	if k, ok := kind.(interface{ onDisk() bool }); ok && k.onDisk() {
		root = diskRoot()
	}
	dir := filepath.Join(root, "leat-"+name+"-"+strings.ReplaceAll(uniqueName(), "_", "-"))
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p, err := kind.plan(dir, port)
	if err != nil {
		return nil, err
	}
	p.Dir = dir
	proc, err := launch(ctx, p)
	if err != nil {
		return nil, err
	}
	s := &server{kind: kind, proc: proc, dir: dir, port: port}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.close(context.WithoutCancel(ctx)))
	}

	return s, nil
}

// start starts the server's process and waits until it answers.
func (s *server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()

	if err := s.proc.start(ctx); err != nil {
		return err
	}
	gone := s.proc.exited()
	for {
		version, err := s.kind.probe(ctx, s.dir, s.port)
		if err == nil {
			s.version = version

			return nil
		}
		select {
		case <-gone:
			return fmt.Errorf("%w\n%s", errExited, s.proc.tail(errorTail))
		default:
		}
		if errors.Is(err, errNotOurs) {
			return err
		}
		if wait.For(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("testenv: %s does not answer: %w\n%s", s.proc.plan.Argv[0], err, s.proc.tail(errorTail))
		}
	}
}

// close stops the server for good.
func (s *server) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()

	return s.proc.close(ctx)
}

// address returns where the server listens.
func (s *server) address() string { return localAddress(s.port) }

func localAddress(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// freePort returns a port on which no process listens at this moment.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", localAddress(0))
	if err != nil {
		return 0, fmt.Errorf("testenv: no free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port

	return port, listener.Close()
}

// certificate is the certificate of a server on 127.0.0.1, and that of the authority that signed it, both
// in PEM. The authority's key is discarded.
type certificate struct {
	keyAndChain, authority string
}

func newCertificate() (certificate, error) {
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "leat test authority"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		// The client usage is included, since a broker also connects to itself.
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, fmt.Errorf("testenv: certificate: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, fmt.Errorf("testenv: certificate: %w", err)
	}
	authority, err := sign(root, root, rootKey.Public(), rootKey)
	if err != nil {
		return certificate{}, err
	}
	chain, err := sign(leaf, root, leafKey.Public(), rootKey)
	if err != nil {
		return certificate{}, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return certificate{}, fmt.Errorf("testenv: certificate: %w", err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))

	return certificate{keyAndChain: text + chain + authority, authority: authority}, nil
}

// sign returns the certificate that template describes, valid for a day.
func sign(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (string, error) {
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return "", fmt.Errorf("testenv: certificate: %w", err)
	}

	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}
