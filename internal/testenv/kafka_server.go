package testenv

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kafkaProfile is how a broker is tuned.
type kafkaProfile struct {
	// heap is the memory of the JVM.
	heap string
	// session is how long the broker may go unheard of before it counts as gone.
	session time.Duration
	// jvm are more options of the JVM.
	jvm []string
	// archive holds Kafka's classes; "" where there is none.
	archive string
	// exitArchive is where an archive is written in the end; "" for none.
	exitArchive string
	// security is nil where everybody may do everything.
	security *kafkaSecurity
}

// sharedBroker serves many tests on a busy machine; it is never killed.
func sharedBroker() kafkaProfile { return kafkaProfile{heap: "1g", session: 18 * time.Second} }

// privateBroker is killed by its test, which waits for its return. Without the second
// compiler it is back in half the processor time: on a busy machine, in half a minute less.
func privateBroker() kafkaProfile {
	return kafkaProfile{heap: "512m", session: 3 * time.Second, jvm: []string{"-XX:TieredStopAtLevel=1"}}
}

//go:embed kafka.properties
var kafkaProperties string

// kafkaServer runs Apache Kafka from jars.
type kafkaServer struct {
	javaBinaries
	kafkaProfile

	cluster string // identifies the broker as ours
}

func newKafkaServer(b javaBinaries, profile kafkaProfile) *kafkaServer {
	var id [16]byte
	_, _ = rand.Read(id[:])
	id[0] &= 0x7f // an identifier must not start with a dash

	return &kafkaServer{javaBinaries: b, kafkaProfile: profile, cluster: base64.RawURLEncoding.EncodeToString(id[:])}
}

func (s *kafkaServer) plan(dir string, port int) (plan, error) {
	controller, err := freePort()
	if err != nil {
		return plan{}, err
	}
	protocol, format, files := "PLAINTEXT", []string(nil), make(map[string]string)
	template := kafkaProperties
	if s.security != nil {
		protocol, format, files = "SASL_SSL", s.security.format(), s.security.files()
		template += s.security.properties(dir)
	}
	properties := strings.NewReplacer(
		"{{protocol}}", protocol,
		"{{port}}", strconv.Itoa(port),
		"{{controller}}", strconv.Itoa(controller),
		"{{partitions}}", strconv.Itoa(defaultPartitions),
		"{{session}}", strconv.FormatInt(s.session.Milliseconds(), 10),
		"{{data}}", filepath.Join(dir, "data"),
	).Replace(template)
	files["kafka.properties"] = properties
	config := filepath.Join(dir, "kafka.properties")
	java := []string{s.java, "-cp", filepath.Join(s.libs, "*"), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"}
	if s.archive != "" {
		java = append(java, "-XX:SharedArchiveFile="+s.archive)
	}

	start := slices.Concat(java, s.jvm, []string{"-Xmx" + s.heap})
	if s.exitArchive != "" {
		start = append(start, "-XX:ArchiveClassesAtExit="+s.exitArchive)
	}

	return plan{
		Files: files,
		Prepare: [][]string{slices.Concat(java, []string{
			"-Xshare:auto", "-XX:TieredStopAtLevel=1",
			"kafka.tools.StorageTool", "format", "--standalone", "-t", s.cluster, "-c", config,
		}, format)},
		Argv: append(start, "kafka.Kafka", config),
		Stop: []stopStep{{Signal: int(syscall.SIGTERM), Wait: 10 * time.Second}},
	}, nil
}

func (s *kafkaServer) probe(ctx context.Context, _ string, port int) (string, error) {
	found, err := inspectKafka(ctx, []string{localAddress(port)}, s.security.adminOptions()...)
	if err != nil {
		return "", err
	}
	if found.cluster != s.cluster {
		return "", errNotOurs
	}

	return kafkaVersion, nil
}

// startKafka runs a broker.
func startKafka(ctx context.Context, profile kafkaProfile) (Service, *server, error) {
	binaries, err := findKafka(ctx)
	if err != nil {
		return Service{}, nil, err
	}
	profile.archive = kafkaArchive(ctx, binaries)
	s, err := serve(ctx, "kafka", newKafkaServer(binaries, profile))
	if err != nil {
		return Service{}, nil, err
	}
	origin := "Apache Kafka started with " + binaries.java
	if binaries.installed {
		origin += ", installed by this run"
	}
	origin += whereData(s.dir)

	return Service{
		Kind:    KindKafka,
		Address: s.address(),
		Version: s.version,
		Origin:  origin,
		Real:    true,
		stop:    s.close,
	}, s, nil
}

// archiveName is the file of an archive's directory.
const archiveName = "kafka.jsa"

// archiveTimeout bounds the making of an archive, a broker's start included.
const archiveTimeout = 2 * time.Minute

// kafkaArchive returns the path of an archive of the classes that a broker loads (class
// data sharing), with which it starts in half the processor time. It is made once for
// each Java, by a broker that does nothing else. Without one, "", a broker only takes
// longer to start, and so it does if the archive turns out to be another Java's.
func kafkaArchive(ctx context.Context, b javaBinaries) string {
	sum := sha256.Sum256([]byte(b.java + b.build))
	dir := b.libs + "-classes-" + hex.EncodeToString(sum[:])[:10]
	path := filepath.Join(dir, archiveName)
	if err := once(ctx, dir, func(partial string) error {
		err := archiveClasses(ctx, b, filepath.Join(partial, archiveName))
		if err == nil || ctx.Err() != nil {
			return err
		}
		// What stays is an empty directory, so that nobody tries again.
		return errors.Join(os.RemoveAll(partial), os.Mkdir(partial, 0o755))
	}); err != nil {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}

	return path
}

// archiveClasses has a broker write the archive when it is told to stop.
func archiveClasses(ctx context.Context, b javaBinaries, path string) error {
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	profile := privateBroker()
	profile.exitArchive = path
	s, err := serve(ctx, "kafka", newKafkaServer(b, profile))
	if err != nil {
		return err
	}

	if err := errors.Join(s.proc.end(ctx, syscall.SIGTERM), s.close(context.WithoutCancel(ctx))); err != nil {
		return err
	}

	return checkArchive(ctx, b, path)
}

// checkArchive starts Java with the archive, which would end each broker if it were torn.
func checkArchive(ctx context.Context, b javaBinaries, path string) error {
	cmd := exec.CommandContext(ctx, b.java, "-cp", filepath.Join(b.libs, "*"),
		"-XX:SharedArchiveFile="+path, "-XX:+VerifySharedSpaces", "-XX:ErrorFile=/dev/null", "-version")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("testenv: archive of classes: %w\n%s", err, output)
	}

	return nil
}

// kafkaVersion is the broker that is fetched; kafka_pom.xml and compose.yaml say
// the same.
const kafkaVersion = "4.1.1"

//go:embed kafka_pom.xml
var kafkaPOM []byte

//go:embed sums/kafka.sha256
var kafkaSums []byte

// findKafka returns what a broker of our own is started from.
func findKafka(ctx context.Context) (javaBinaries, error) {
	return findJars(ctx, "kafka-"+kafkaVersion, kafkaPOM, kafkaSums)
}

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
