package sqlforward_test

import (
	"testing"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqlforward"
)

func withDefaultSchema() table {
	return table{schema: wmsql.DefaultMySQLSchema{}, offsets: wmsql.DefaultMySQLOffsetsAdapter{}}
}

func withQueue() table {
	return table{
		schema: wmsql.MySQLQueueSchema{}, offsets: wmsql.MySQLQueueOffsetsAdapter{DeleteOnAck: true},
		cfg: sqlforward.Config{Queue: true},
	}
}

func withQueueThatKeeps() table {
	return table{
		schema: wmsql.MySQLQueueSchema{}, offsets: wmsql.MySQLQueueOffsetsAdapter{},
		cfg: sqlforward.Config{Queue: true, KeepAcked: true},
	}
}

// onTables runs a test on MySQL with the default schema, and on MariaDB with the queue schema.
func onTables(t *testing.T, test func(t *testing.T, x *table)) {
	t.Helper()
	t.Run("mysql default", func(t *testing.T) {
		t.Parallel()
		test(t, create(t, outbox.MySQL, withDefaultSchema()))
	})
	t.Run("mariadb queue", func(t *testing.T) {
		t.Parallel()
		test(t, create(t, outbox.MariaDB, withQueue()))
	})
}

// create creates a forwarder's table in a database of its own.
func create(t *testing.T, dialect outbox.Dialect, x table) *table {
	t.Helper()
	server := testenv.MySQL
	if dialect == outbox.MariaDB {
		server = testenv.MariaDB
	}
	config := sqltest.NewMySQLDatabase(t, server(t).URL)
	x.db, x.config, x.dialect = sqltest.OpenMySQL(t, config, nil), config, dialect
	config = config.Clone()
	config.InterpolateParams = false
	x.plain = sqltest.OpenMySQL(t, config, nil)
	x.initialize(t)
	return &x
}

//leat:level 2
func TestAll_MySQLQueue(t *testing.T) {
	t.Parallel()
	runAll(t, outbox.MySQL, withQueue())
}

//leat:level 2
func TestAll_MySQLQueueThatKeeps(t *testing.T) {
	t.Parallel()
	runAll(t, outbox.MySQL, withQueueThatKeeps())
}

//leat:level 2
func TestAll_MariaDBDefault(t *testing.T) {
	t.Parallel()
	runAll(t, outbox.MariaDB, withDefaultSchema())
}

//leat:level 2
func TestAll_MariaDBQueueThatKeeps(t *testing.T) {
	t.Parallel()
	runAll(t, outbox.MariaDB, withQueueThatKeeps())
}

// runAll runs the tests of onTables with another configuration.
func runAll(t *testing.T, dialect outbox.Dialect, x table) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, x *table){
		"O2_ManyRowsBesideAnOpenTransaction":  manyRowsBesideAnOpenTransaction,
		"O2_WhatTheForwarderAckedIsNoGap":     whatTheForwarderAckedIsNoGap,
		"O5_DirectEnqueueIsNamed":             directEnqueueIsNamed,
		"O5_HandBackWaitsForTheRelay":         handBackWaitsForTheRelay,
		"O2_LateCommitIsMoved":                lateCommitIsMoved,
		"O2_TruncatedTableIsMoved":            truncatedTableIsMovedFromItsStart,
		"O10_CleanedTableIsNotMovedAgain":     cleanedTableIsNotMovedAgain,
		"O6_MalformedRowIsSetAside":           malformedRowIsSetAside,
		"Check":                               checkNames,
		"O1_O2_O5_ManyWritersAndMovers":       manyWritersAndMovers,
		"O10_TakesThePlaceAndGivesItBack":     takesThePlaceAndGivesItBack,
		"O2_TakesOverBesideAnOpenTransaction": takesOverBesideAnOpenTransaction,
		"O10_WaitsForTheForwardersBatch":      waitsForTheForwardersBatch,
		"O10_HandBackBehindAnOpenTransaction": handBackBehindAnOpenTransaction,
		"O10_PlacesAreTakenOnce":              placesAreTakenOnce,
		"O10_RefusesAnotherGroup":             refusesAnotherGroup,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, create(t, dialect, x))
		})
	}
}
