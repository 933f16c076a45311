package testenv

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
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
