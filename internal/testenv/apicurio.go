package testenv

import (
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// RegistryEnv is a test's own part of Apicurio Registry: all subjects whose names start with its
// namespace. They stay until the server stops.
type RegistryEnv struct {
	// URL is the URL of the Confluent-compatible API.
	URL string
	// Namespace is valid for Avro and Protobuf.
	Namespace string
}

// Registry returns a namespace on the shared server. If there is no server the test is skipped; in
// CI it fails.
func Registry(tb testing.TB) *RegistryEnv {
	tb.Helper()
	service, err := shared.service(context.Background(), KindApicurio)
	Available(tb, err)
	shared.slot(KindApicurio).announce.Do(func() { tb.Log("this run uses ", service.line()) })
	return &RegistryEnv{URL: service.Address, Namespace: "leat_test_" + uniqueName()}
}

// RegistryServer is an Apicurio Registry that only one test uses. It forgets everything when it stops.
type RegistryServer struct {
	private
	URL string // of Confluent's API; the same after a restart
}

// PrivateRegistry starts a server for the test alone. It takes some ten seconds. If the server cannot be
// started the test is skipped; in CI it fails.
func PrivateRegistry(tb testing.TB) *RegistryServer {
	tb.Helper()
	s := startPrivate(tb, "Apicurio Registry", func(ctx context.Context) (*Own, error) {
		service, s, err := startOwnApicurio(ctx)
		if err != nil {
			return nil, err
		}

		return newOwn(service, s), nil
	})

	return &RegistryServer{private: s, URL: s.own.Address}
}

// Kill ends the server with SIGKILL and waits until it has gone.
func (s *RegistryServer) Kill() {
	s.tb.Helper()
	s.end(syscall.SIGKILL)
}

// Pause stops the server without closing its connections, until resume is called.
func (s *RegistryServer) Pause() (resume func()) {
	s.tb.Helper()
	if err := s.own.Signal(syscall.SIGSTOP); err != nil {
		s.tb.Fatal(err)
	}
	return func() { _ = s.own.Signal(syscall.SIGCONT) }
}

// resolveApicurio tries the sources of Apicurio Registry in order. It has no substitute.
func resolveApicurio(ctx context.Context) (Service, error) {
	if url := os.Getenv(EnvRegistry); url != "" {
		return Service{Kind: KindApicurio, Address: url, Version: apicurioVersion, Origin: "address in " + EnvRegistry, Real: true}, nil
	}
	service, s, err := startOwnApicurio(ctx)
	if err == nil {
		service.stop = s.close
	}

	return service, err
}

// apicurioVersion is the version of Apicurio Registry that is fetched.
const apicurioVersion = "3.0.9"

//go:embed sums/apicurio.sha256
var apicurioSums []byte

// apicurioServer keeps its schemas in memory.
type apicurioServer struct{ java, jar string }

func (s apicurioServer) plan(_ string, port int) (plan, error) {
	return plan{
		Argv: []string{
			s.java, "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-Dquarkus.http.host=127.0.0.1", "-Dquarkus.http.port=" + strconv.Itoa(port), "-jar", s.jar,
		},
		Stop: []stopStep{{Signal: int(syscall.SIGTERM), Wait: 5 * time.Second}},
	}, nil
}

// probe asks whether the server is ready. If another Apicurio Registry has taken the port, it answers
// instead of ours, which has then ended. The other one can be used as well, since tests have namespaces of
// their own.
func (s apicurioServer) probe(ctx context.Context, _ string, port int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+localAddress(port)+"/health/ready", nil)
	if err != nil {
		return "", err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		err = errors.New("testenv: Apicurio Registry: " + response.Status)
	}

	return apicurioVersion, errors.Join(err, response.Body.Close())
}

func startOwnApicurio(ctx context.Context) (Service, *server, error) {
	found, err := findApicurio(ctx)
	if errors.Is(err, ErrUnavailable) && mayInstall() {
		if err = install(ctx, "default-jre-headless", "maven"); err == nil {
			found, err = findApicurio(ctx)
		}
	}
	if err != nil {
		return Service{}, nil, err
	}
	s, err := serve(ctx, "apicurio", found)
	if err != nil {
		return Service{}, nil, err
	}

	return Service{
		Kind: KindApicurio, Address: "http://" + s.address() + "/apis/ccompat/v7", Version: s.version,
		Origin: "Apicurio Registry started with " + found.java, Real: true,
	}, s, nil
}

// findApicurio makes Maven download the archive once, and unpacks it.
func findApicurio(ctx context.Context) (s apicurioServer, err error) {
	if s.java, _, err = findJava(ctx); err != nil {
		return s, err
	}
	cache, err := cacheDir()
	if err != nil {
		return s, err
	}
	dir := filepath.Join(cache, "apicurio-"+apicurioVersion)
	s.jar = filepath.Join(dir, "apicurio-registry-app-"+apicurioVersion+"-runner.jar")

	return s, once(ctx, dir, func(dir string) error { return fetchApicurio(ctx, dir) })
}

func fetchApicurio(ctx context.Context, dir string) (err error) {
	pinned, err := parseSums(apicurioSums)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mvn", "-B", "-q", "--strict-checksums",
		"org.apache.maven.plugins:maven-dependency-plugin:2.8:copy", "-DoutputDirectory="+dir,
		"-Dartifact=io.apicurio:apicurio-registry-app:"+apicurioVersion+":tar.gz:all")
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: fetch Apicurio Registry: %w\n%s", ErrUnavailable, err, output)
	}
	if err := pinned.checkDir(dir, ".gz"); err != nil {
		return err
	}
	packed, err := os.Open(filepath.Join(dir, "apicurio-registry-app-"+apicurioVersion+"-all.tar.gz"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, packed.Close(), os.Remove(packed.Name())) }()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}

	return unpackTar(plain, dir)
}
