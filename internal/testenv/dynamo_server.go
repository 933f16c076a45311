package testenv

import (
	"context"
	_ "embed"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// dynamoVersion is the DynamoDB Local that is fetched; dynamo_pom.xml says the same. It does
// not tell its version.
const dynamoVersion = "2.6.1"

//go:embed dynamo_pom.xml
var dynamoPOM []byte

//go:embed sums/dynamodb.sha256
var dynamoSums []byte

// dynamoServer runs DynamoDB Local from jars. Its tables are in memory, and all credentials
// and regions see the same.
type dynamoServer struct {
	javaBinaries
}

func (s dynamoServer) plan(_ string, port int) (plan, error) {
	return plan{
		Argv: []string{
			s.java, "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
			"-Djava.library.path=" + s.libs, // where SQLite is
			"-cp", filepath.Join(s.libs, "*"), "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
			"-inMemory", "-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port),
		},
		Stop: []stopStep{{Signal: int(syscall.SIGTERM), Wait: 5 * time.Second}},
	}, nil
}

// probe lists the tables. If another DynamoDB Local has taken the port meanwhile, it answers in
// place of ours, which has ended then: tables have names that no other test has, so it will do.
func (s dynamoServer) probe(ctx context.Context, _ string, port int) (string, error) {
	_, err := dynamoTables(ctx, "http://"+localAddress(port), "")

	return dynamoVersion, err
}

func startDynamo(ctx context.Context) (Service, error) {
	service, s, err := startOwnDynamo(ctx)
	if err == nil {
		service.stop = s.close
	}

	return service, err
}

func startOwnDynamo(ctx context.Context) (Service, *server, error) {
	binaries, err := findJars(ctx, "dynamodb-"+dynamoVersion, dynamoPOM, dynamoSums)
	if err != nil {
		return Service{}, nil, err
	}
	s, err := serve(ctx, "dynamodb", dynamoServer{binaries})
	if err != nil {
		return Service{}, nil, err
	}

	return Service{
		Kind:    KindDynamo,
		Address: "http://" + s.address(),
		Version: s.version,
		Origin:  "DynamoDB Local started with " + binaries.java,
		Real:    true,
	}, s, nil
}
