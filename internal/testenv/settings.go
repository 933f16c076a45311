package testenv

import (
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// The variables of the environment that this package reads.
const (
	// EnvPostgres is the URL of a PostgreSQL server that we may create databases on.
	EnvPostgres = "LEAT_POSTGRES_URL"
	// EnvKafka is a comma-separated list of brokers, or "fake" for kfake.
	EnvKafka = "LEAT_KAFKA_BROKERS"
	// EnvRedis is host:port of a Redis server, or "fake" for miniredis.
	EnvRedis = "LEAT_REDIS_ADDR"
	// EnvRedisServer is "valkey" if Redis is to be a Valkey 9 that we start, whatever runs
	// already, fetched once as packages of Debian, and "redis" or empty if not. [EnvRedis] takes precedence.
	EnvRedisServer = "LEAT_REDIS_SERVER"
	// EnvRabbit is the URL of a RabbitMQ server with its management, whose port is in the
	// parameter management unless it is 15672: amqp://guest:guest@127.0.0.1:5672/.
	EnvRabbit = "LEAT_RABBITMQ_URL"
	// EnvMySQL is the URL of a MySQL server that we may create databases on, such as
	// mysql://root@127.0.0.1:3306/.
	EnvMySQL = "LEAT_MYSQL_URL"
	// EnvMariaDB is the URL of a MariaDB server, likewise.
	EnvMariaDB = "LEAT_MARIADB_URL"
	// EnvDynamo is the endpoint of a DynamoDB Local, such as http://127.0.0.1:8000.
	EnvDynamo = "LEAT_DYNAMODB_URL"
	// EnvPostgresVersion forces a major version of PostgreSQL, 14 to 18.
	EnvPostgresVersion = "LEAT_PG_VERSION"
	// EnvPostgresBin is a directory that holds postgres and initdb.
	EnvPostgresBin = "LEAT_PG_BIN"
	// EnvCache is the directory that keeps what was fetched and where the detached
	// set is found.
	EnvCache = "LEAT_CACHE"
)

// fake is the address that asks for the in-process substitute.
const fake = "fake"

// inCI reports whether a missing server fails the run instead of being replaced
// or skipped.
func inCI() bool {
	yes, err := strconv.ParseBool(os.Getenv("CI"))

	return err == nil && yes
}

// uniqueName is a name that no other test has, on this server or another. Its
// first part is the time, so that what a killed run left behind can be told from
// what is in use.
func uniqueName() string {
	var b [5]byte
	_, _ = rand.Read(b[:])

	return strconv.FormatInt(time.Now().Unix(), 36) + "_" + hex.EncodeToString(b[:])
}

// nameAge returns how long ago uniqueName made the name, false if it did not.
func nameAge(name string) (time.Duration, bool) {
	stamp, _, ok := strings.Cut(name, "_")
	if !ok {
		return 0, false
	}
	seconds, err := strconv.ParseInt(stamp, 36, 64)
	if err != nil {
		return 0, false
	}

	return time.Since(time.Unix(seconds, 0)), true
}

// redact hides the password of a URL, and what may hold one where there is no telling.
func redact(address string) string {
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Host != "" && u.User != nil && strings.Count(address, "@") == 1 && !strings.Contains(address, "password"):
		return u.Redacted()
	case strings.Contains(address, "@"), strings.Contains(address, "password"):
		return "(hidden)"
	default:
		return address
	}
}
