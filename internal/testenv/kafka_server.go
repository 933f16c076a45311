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

// kafkaProfile contains the tuning of a broker.
type kafkaProfile struct {
	// heap is the memory of the JVM.
	heap string
	// session is how long the broker may be silent before it counts as gone.
	session time.Duration
	// jvm contains further options of the JVM.
	jvm []string
	// archive is the archive of Kafka's classes, "" if there is none.
	archive string
	// exitArchive is the path to which the broker writes an archive when it exits, "" for none.
	exitArchive string
	// security is nil if every client may do everything.
	security *kafkaSecurity
}

// sharedBroker returns the profile of a broker that serves many tests on a busy machine. It is never
// killed.
func sharedBroker() kafkaProfile { return kafkaProfile{heap: "1g", session: 18 * time.Second} }

// privateBroker returns the profile of a broker that its test kills and restarts. Without the second
// compiler the broker restarts in half the processor time. On a busy machine that saves half a minute.
func privateBroker() kafkaProfile {
	return kafkaProfile{heap: "512m", session: 3 * time.Second, jvm: []string{"-XX:TieredStopAtLevel=1"}}
}

//go:embed kafka.properties
var kafkaProperties string

// kafkaServer runs Apache Kafka from jars.
type kafkaServer struct {
	javaBinaries
	kafkaProfile

	cluster string // by which a probe recognises the broker as ours
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

// archiveName is the name of the archive's file in its directory.
const archiveName = "kafka.jsa"

// archiveTimeout bounds the creation of an archive, including a broker's start.
const archiveTimeout = 2 * time.Minute

// kafkaArchive returns the path of an archive of the classes that a broker loads (class data sharing).
// With it the broker starts in half the processor time. The archive is made once for each Java, by a
// broker that does nothing else. Without an archive, "", or with one of another Java, a broker only takes
// longer to start.
func kafkaArchive(ctx context.Context, b javaBinaries) string {
	sum := sha256.Sum256([]byte(b.java + b.build))
	dir := b.libs + "-classes-" + hex.EncodeToString(sum[:])[:10]
	path := filepath.Join(dir, archiveName)
	if err := once(ctx, dir, func(partial string) error {
		err := archiveClasses(ctx, b, filepath.Join(partial, archiveName))
		if err == nil || ctx.Err() != nil {
			return err
		}
		// The directory stays, empty, so that other runs do not try again.
		return errors.Join(os.RemoveAll(partial), os.Mkdir(partial, 0o755))
	}); err != nil {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}

	return path
}

// archiveClasses starts a broker and stops it, which makes it write the archive.
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

// checkArchive starts Java with the archive, since a damaged archive would end every broker.
func checkArchive(ctx context.Context, b javaBinaries, path string) error {
	cmd := exec.CommandContext(ctx, b.java, "-cp", filepath.Join(b.libs, "*"),
		"-XX:SharedArchiveFile="+path, "-XX:+VerifySharedSpaces", "-XX:ErrorFile=/dev/null", "-version")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("testenv: archive of classes: %w\n%s", err, output)
	}

	return nil
}

// kafkaVersion is the version of the broker that is downloaded, as in kafka_pom.xml and compose.yaml.
const kafkaVersion = "4.1.1"

//go:embed kafka_pom.xml
var kafkaPOM []byte

//go:embed sums/kafka.sha256
var kafkaSums []byte

// findKafka returns the Java runtime and the jars with which we run a broker.
func findKafka(ctx context.Context) (javaBinaries, error) {
	return findJars(ctx, "kafka-"+kafkaVersion, kafkaPOM, kafkaSums)
}

// oldestJava is the oldest version of Java on which the downloaded programs run.
const oldestJava = 17

// javaBinaries are a Java runtime and a directory of jars.
type javaBinaries struct {
	java, libs string
	build      string // the output of java -version
	installed  bool
}

// Jars returns a Java runtime and a directory with the jars that a Maven POM lists, for programs such as
// Kafka Connect. The jars are downloaded once and kept under name, which should contain their version.
// sums is a table of the SHA-256 of each jar, in the format of sha256sum; other jars are refused. Missing
// tools are installed if possible.
func Jars(ctx context.Context, name string, pom, sums []byte) (java, libs string, err error) {
	b, err := findJars(ctx, name, pom, sums)

	return b.java, b.libs, err
}

// findJars returns the runtime and the jars of a Java program, which are downloaded if necessary. Missing
// tools are installed if possible.
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

// copyJars makes Maven copy the artifacts of the POM and their dependencies into dir.
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

// findJava returns the Java runtime of JAVA_HOME or PATH if it is new enough, and the version that it
// reports.
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

// javaMajor reads the output of java -version, whose first line looks like
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
