package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// oldestJava is the oldest version of Java that what is fetched runs on.
const oldestJava = 17

// javaBinaries are a Java runtime and a directory of jars.
type javaBinaries struct {
	java, libs string
	build      string // what java says of its version
	installed  bool
}

// Jars returns a Java runtime and a directory with the jars that a Maven POM asks
// for, for programs such as Kafka Connect. They are fetched once and kept under the
// name, which should have their version. Sums is a table of the SHA-256 of each jar, as
// sha256sum writes it; other jars are not used. Where that is possible, what is missing
// for it is installed.
func Jars(ctx context.Context, name string, pom, sums []byte) (java, libs string, err error) {
	b, err := findJars(ctx, name, pom, sums)

	return b.java, b.libs, err
}

// findJars returns what a Java program is started from, fetched or, where that is
// possible, installed if need be.
func findJars(ctx context.Context, name string, pom, table []byte) (javaBinaries, error) {
	b, err := localJars(ctx, name, pom, table)
	if err == nil || !mayInstall() {
		return b, err
	}
	if err := install(ctx, "default-jre-headless", "maven"); err != nil {
		return javaBinaries{}, err
	}
	b, err = localJars(ctx, name, pom, table)
	b.installed = true

	return b, err
}

// localJars uses the Java and Maven of this machine.
func localJars(ctx context.Context, name string, pom, table []byte) (javaBinaries, error) {
	java, build, err := findJava(ctx)
	if err != nil {
		return javaBinaries{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return javaBinaries{}, err
	}
	pinned, err := parseSums(table)
	if err != nil {
		return javaBinaries{}, err
	}
	libs := filepath.Join(cache, name)
	err = once(ctx, libs, func(dir string) error {
		if err := copyJars(ctx, dir, name, pom); err != nil {
			return err
		}

		return pinned.checkDir(dir, ".jar", ".so")
	})
	if err != nil {
		return javaBinaries{}, err
	}

	return javaBinaries{java: java, libs: libs, build: build}, nil
}

// copyJars has Maven copy what the POM asks for and what that needs into dir.
func copyJars(ctx context.Context, dir, name string, pom []byte) error {
	if _, err := exec.LookPath("mvn"); err != nil {
		return fmt.Errorf("%w: jars are fetched with Maven: %w", ErrUnavailable, err)
	}
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o600); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	cmd := exec.CommandContext(ctx, "mvn", "-B", "-q", "--strict-checksums", "-f", file,
		"org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies", "-DoutputDirectory="+dir)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: fetch %s: %w\n%s", ErrUnavailable, name, err, output)
	}

	return nil
}

// findJava returns the Java runtime of JAVA_HOME or PATH if it is new enough, and what it
// says of its version.
func findJava(ctx context.Context) (path, build string, err error) {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	path, err = exec.LookPath(java)
	if err != nil {
		return "", "", fmt.Errorf("%w: needs Java %d: %w", ErrUnavailable, oldestJava, err)
	}
	output, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("%w: %s: %w", ErrUnavailable, path, err)
	}
	if version := javaMajor(string(output)); version < oldestJava {
		return "", "", fmt.Errorf("%w: needs Java %d, %s is %d", ErrUnavailable, oldestJava, path, version)
	}

	return path, string(output), nil
}

// javaMajor reads the answer to java -version, whose first line looks like
//
//	openjdk version "17.0.15" 2025-04-15
func javaMajor(answer string) int {
	_, rest, _ := strings.Cut(answer, `version "`)
	version, _, _ := strings.Cut(rest, `"`)
	major, err := strconv.Atoi(majorOf(version))
	if err != nil {
		return 0
	}

	return major
}
