package testenv

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// newestPostgres is fetched when any version will do.
const newestPostgres = "18"

//go:embed postgres_pom.xml
var postgresPOM []byte

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

// fetchPostgres returns the binaries of a major version, fetched once with Maven and
// kept in the cache.
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
		jar, err := postgresJar(ctx, release)
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

// postgresJar returns what the project embedded-postgres-binaries publishes for this
// machine, if it is what was pinned.
func postgresJar(ctx context.Context, release string) ([]byte, error) {
	artifact := "embedded-postgres-binaries-" + runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOARCH == "arm64" {
		artifact += "v8"
	}
	pinned, err := parseSums(postgresSums)
	if err != nil {
		return nil, err
	}
	name := artifact + "-" + release + ".jar"
	sum, ok := pinned[name]
	if !ok {
		return nil, fmt.Errorf("%w: %s: there is no sum of it; %s can name binaries", errSum, name, EnvPostgresBin)
	}
	pom := bytes.ReplaceAll(postgresPOM, []byte("ARTIFACT"), []byte(artifact))
	pom = bytes.ReplaceAll(pom, []byte("RELEASE"), []byte(release))
	jars, err := findJars(ctx, "postgres-jar-"+release, pom, []byte(sum+"  "+name+"\n"))
	if err != nil {
		return nil, err
	}
	jar, err := os.ReadFile(filepath.Join(jars.libs, name))
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}

	return jar, nil
}
