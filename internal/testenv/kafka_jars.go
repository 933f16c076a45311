package testenv

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// kafkaVersion is the broker that is fetched; kafka_pom.xml and compose.yaml say
// the same.
const kafkaVersion = "4.1.1"

// oldestJava is the oldest version of Java that the broker runs on.
const oldestJava = 17

//go:embed kafka_pom.xml
var kafkaPOM []byte

// kafkaBinaries are a Java runtime and a directory of jars.
type kafkaBinaries struct {
	java, libs string
	installed  bool
}

// findKafka returns what a broker of our own is started from, fetched or, where
// that is possible, installed if need be.
func findKafka(ctx context.Context) (kafkaBinaries, error) {
	b, err := localKafka(ctx)
	if err == nil || !mayInstall() {
		return b, err
	}
	if err := install(ctx, "default-jre-headless", "maven"); err != nil {
		return kafkaBinaries{}, err
	}
	b, err = localKafka(ctx)
	b.installed = true

	return b, err
}

// localKafka uses the Java and Maven of this machine.
func localKafka(ctx context.Context) (kafkaBinaries, error) {
	java, err := findJava(ctx)
	if err != nil {
		return kafkaBinaries{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return kafkaBinaries{}, err
	}
	libs := filepath.Join(cache, "kafka-"+kafkaVersion)
	if err := once(ctx, libs, func(dir string) error { return copyJars(ctx, dir) }); err != nil {
		return kafkaBinaries{}, err
	}

	return kafkaBinaries{java: java, libs: libs}, nil
}

// copyJars has Maven copy the broker and what it needs into dir.
func copyJars(ctx context.Context, dir string) error {
	if _, err := exec.LookPath("mvn"); err != nil {
		return fmt.Errorf("%w: Kafka's jars are fetched with Maven: %w", ErrUnavailable, err)
	}
	pom := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pom, kafkaPOM, 0o600); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	cmd := exec.CommandContext(ctx, "mvn", "-B", "-q", "-f", pom,
		"org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies", "-DoutputDirectory="+dir)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: fetch Kafka %s: %w\n%s", ErrUnavailable, kafkaVersion, err, output)
	}

	return nil
}

// findJava returns the Java runtime of JAVA_HOME or PATH if it is new enough.
func findJava(ctx context.Context) (string, error) {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	path, err := exec.LookPath(java)
	if err != nil {
		return "", fmt.Errorf("%w: Kafka needs Java %d: %w", ErrUnavailable, oldestJava, err)
	}
	output, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrUnavailable, path, err)
	}
	if version := javaMajor(string(output)); version < oldestJava {
		return "", fmt.Errorf("%w: Kafka needs Java %d, %s is %d", ErrUnavailable, oldestJava, path, version)
	}

	return path, nil
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
