package roles

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Tables of bank and ledger in DynamoDB. Their key pk is a text: the name of an account, the id of a
// transfer, or the account and the version of an effect.
const (
	DynamoAccounts  = "accounts"
	DynamoTransfers = "transfers"
	DynamoBalances  = "balances"
	DynamoEffects   = "effects"
	// DynamoInbox is the ledger's inbox.
	DynamoInbox = "ledger_inbox"
)

// DynamoOutbox returns the name of the table of a database's outbox.
func DynamoOutbox(database string) string { return database + "_outbox" }

// DynamoAccount returns a new account.
func DynamoAccount(name string) map[string]types.AttributeValue {
	row := dynamoKey(name)
	row["balance"], row["opening"], row["version"] = number(Opening), number(Opening), number(0)
	return row
}

// DynamoNumber returns a number attribute of an item, 0 if it has none.
func DynamoNumber(item map[string]types.AttributeValue, name string) int64 {
	n, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	v, _ := strconv.ParseInt(n.Value, 10, 64) // always a number, since this program has written it
	return v
}

// DynamoText returns a text attribute of an item, empty if it has none.
func DynamoText(item map[string]types.AttributeValue, name string) string {
	s, ok := item[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

func dynamoKey(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}}
}

func number(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
