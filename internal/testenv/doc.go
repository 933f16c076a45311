// Package testenv finds or starts the servers that tests, benchmarks, examples and the demo run on,
// and gives each test its own part of them: a database cloned from a migrated template, a Kafka
// topic prefix, a Redis key prefix.
//
// A server is looked for in this order, service by service:
//
//  1. an address in the environment: LEAT_POSTGRES_URL, LEAT_KAFKA_BROKERS,
//     LEAT_REDIS_ADDR, LEAT_MYSQL_URL, LEAT_MARIADB_URL;
//  2. one that is running already: the detached set of `leatenv up`, else a
//     server on the standard local port that lets us in;
//  3. binaries on this machine, started on a free port and a directory of their
//     own;
//  4. for root on Debian, the same after installing the package (not MySQL and MariaDB);
//  5. a substitute: PostgreSQL binaries fetched once, as the tables in sums say,
//     Kafka and Redis played in-process by kfake and miniredis, MySQL and MariaDB
//     fetched once as packages of Debian, unpacked and run by their own loader.
//
// Redis is Valkey 9 with LEAT_REDIS_SERVER=valkey, fetched in the same way as MySQL.
//
// With CI=true the substitutes for Kafka and Redis are refused, and tests that need
// MySQL or MariaDB fail where there is none, instead of being skipped.
//
// A test that needs a pooler starts a PgBouncer or a pgpool-II of its own in front of its
// database: an installed one, or, for root on Debian, installed by the run. A test of
// alert rules gets Prometheus's promtool in the same way.
//
// The data of test servers is in memory if there is plenty of it, see [InMemory].
//
// Servers run under a supervisor, which is the same program executed again (see [Supervise]). It
// holds one end of a pipe; when the other end closes, for whatever reason, SIGKILL included, it
// stops the server and removes its directory. Nothing outlives the run.
//
// On a server that it did not start, the package creates nothing but databases
// whose names start with leat_test_, topics that start with leat-test- and keys
// that start with leat-test:, and removes them again. Databases on MySQL and MariaDB
// are made and dropped by the tests, which have a driver.
package testenv
