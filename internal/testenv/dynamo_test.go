package testenv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDynamo_TablesOfTheTestAreDeleted(t *testing.T) {
	t.Parallel()
	watcher := Dynamo(t)
	create := func(e *DynamoEnv, name string) {
		require.NoError(t, dynamoCall(t.Context(), e.URL, "CreateTable", map[string]any{
			"TableName":            e.Prefix + name,
			"BillingMode":          "PAY_PER_REQUEST",
			"AttributeDefinitions": []map[string]string{{"AttributeName": "pk", "AttributeType": "S"}},
			"KeySchema":            []map[string]string{{"AttributeName": "pk", "KeyType": "HASH"}},
		}, nil))
	}
	create(watcher, "own")
	var theirs *DynamoEnv
	t.Run("owner", func(t *testing.T) {
		theirs = Dynamo(t)
		create(theirs, "a")
		create(theirs, "b")
		tables, err := dynamoTables(t.Context(), theirs.URL, theirs.Prefix)
		require.NoError(t, err)
		require.Equal(t, []string{theirs.Prefix + "a", theirs.Prefix + "b"}, tables)
	})
	tables, err := dynamoTables(t.Context(), theirs.URL, theirs.Prefix)
	require.NoError(t, err)
	require.Empty(t, tables)
	tables, err = dynamoTables(t.Context(), watcher.URL, watcher.Prefix)
	require.NoError(t, err)
	require.Equal(t, []string{watcher.Prefix + "own"}, tables)
}
