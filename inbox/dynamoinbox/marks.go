package dynamoinbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/inbox/driver"
)

// Marks of a group's partitions of a topic are one item, and that the group has marks is another.
// Their keys have 15 bytes: no other item has so few.
const (
	attrMarks = "marks" // a map of partitions
	attrOf    = "of"    // what the marks are of, for operators
	attrNext  = "n"
	attrToken = "t"
)

// mostMarks is how many partitions one UpdateItem moves: an expression has at most 300 operators.
const mostMarks = 100

var _ driver.Marker = (*Inbox)(nil)

func marksKey(of ...string) item {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", of))
	return item{attrKey: &types.AttributeValueMemberB{Value: sum[:15]}}
}

func (in *Inbox) get(ctx context.Context, key item) (item, error) {
	out, err := in.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &in.cfg.Table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, explain("read marks", err)
	}
	return out.Item, nil
}

// Marks implements driver.Marker, for kafkasource.Config. The marks belong to the group, whatever the name
// of the consumer. A restore always creates another table, and the program must be restarted to use it. So
// History is the table's name.
func (in *Inbox) Marks(ctx context.Context, of driver.GroupTopic) (driver.Marks, error) {
	marks := driver.Marks{History: in.cfg.Table, Partitions: map[int32]driver.Mark{}}
	there, err := in.get(ctx, marksKey(of.Group, of.Topic, of.Source))
	if err != nil {
		return driver.Marks{}, err
	}
	if marks.Known = len(there) > 0; !marks.Known {
		group, err := in.get(ctx, marksKey(of.Group))
		marks.Known = len(group) > 0
		return marks, err
	}
	parts, _ := there[attrMarks].(*types.AttributeValueMemberM)
	if parts == nil {
		return driver.Marks{}, fmt.Errorf("leat: dynamodb: the item of the marks of group %.200q has no %s", of.Group, attrMarks)
	}
	for name, value := range parts.Value {
		part, mark, err := parseMark(name, value)
		if err != nil {
			return driver.Marks{}, err
		}
		marks.Partitions[part] = mark
	}
	return marks, nil
}

// parseMark is the reverse of what moveMarks writes.
func parseMark(name string, value types.AttributeValue) (part int32, mark driver.Mark, err error) {
	no, err := strconv.ParseInt(name, 10, 32)
	m, _ := value.(*types.AttributeValueMemberM)
	if err != nil || m == nil {
		return 0, mark, fmt.Errorf("leat: dynamodb: %q is not a mark of a partition", name)
	}
	next, isNumber := m.Value[attrNext].(*types.AttributeValueMemberN)
	token, isText := m.Value[attrToken].(*types.AttributeValueMemberS)
	if isNumber && isText {
		mark.Token = token.Value
		mark.Next, err = strconv.ParseInt(next.Value, 10, 64)
	}
	if err != nil || mark.Token == "" {
		return 0, mark, fmt.Errorf("leat: dynamodb: the mark of partition %d has no number or token", no)
	}
	return int32(no), mark, nil
}

// SetMarks implements driver.Marker. More than mostMarks are moved by several updates. If another process
// moves a mark between two of them, only the first marks are moved.
func (in *Inbox) SetMarks(ctx context.Context, of driver.GroupTopic, history string, marks map[int32]driver.Mark) (token string, err error) {
	if history != in.cfg.Table {
		return "", driver.ErrMarksMoved
	}
	parts, fresh := make([]int32, 0, len(marks)), false
	for part, m := range marks {
		parts = append(parts, part)
		fresh = fresh || m.Token == ""
	}
	slices.Sort(parts)
	if fresh {
		if err := in.beginMarks(ctx, of); err != nil {
			return "", err
		}
	}
	if len(parts) > mostMarks {
		now, err := in.Marks(ctx, of)
		if err != nil {
			return "", err
		}
		for part, m := range marks {
			if now.Partitions[part].Token != m.Token {
				return "", driver.ErrMarksMoved
			}
		}
	}
	token = rand.Text()
	for chunk := range slices.Chunk(parts, mostMarks) {
		if err := in.moveMarks(ctx, of, marks, chunk, token); err != nil {
			return "", err
		}
	}
	return token, nil
}

// beginMarks creates missing items. The item of the group comes first, so that it exists if the item of any
// topic does.
func (in *Inbox) beginMarks(ctx context.Context, of driver.GroupTopic) error {
	for _, it := range []struct {
		key item
		of  string
	}{
		{marksKey(of.Group), fmt.Sprintf("%q", of.Group)},
		{marksKey(of.Group, of.Topic, of.Source), fmt.Sprintf("%q", of)},
	} {
		it.key[attrOf] = &types.AttributeValueMemberS{Value: it.of}
		it.key[attrMarks] = &types.AttributeValueMemberM{Value: item{}}
		_, err := in.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &in.cfg.Table, Item: it.key, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		})
		if _, there := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !there {
			return explain("begin marks", err)
		}
	}
	return nil
}

// moveMarks moves the marks of some partitions, or of none.
func (in *Inbox) moveMarks(ctx context.Context, of driver.GroupTopic, marks map[int32]driver.Mark, parts []int32, token string) error {
	sets, conditions := make([]string, len(parts)), make([]string, len(parts))
	names, values := map[string]string{}, item{}
	for i, part := range parts {
		n := strconv.Itoa(i)
		m := marks[part]
		names["#p"+n] = strconv.FormatInt(int64(part), 10)
		values[":v"+n] = &types.AttributeValueMemberM{Value: item{attrNext: number(m.Next), attrToken: &types.AttributeValueMemberS{Value: token}}}
		sets[i] = "marks.#p" + n + " = :v" + n
		conditions[i] = "attribute_not_exists(marks.#p" + n + ")"
		if m.Token != "" {
			values[":t"+n] = &types.AttributeValueMemberS{Value: m.Token}
			conditions[i] = "marks.#p" + n + ".t = :t" + n
		}
	}
	_, err := in.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &in.cfg.Table, Key: marksKey(of.Group, of.Topic, of.Source),
		UpdateExpression: aws.String("SET " + strings.Join(sets, ", ")), ConditionExpression: aws.String(strings.Join(conditions, " AND ")),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if _, moved := errors.AsType[*types.ConditionalCheckFailedException](err); moved {
		return driver.ErrMarksMoved
	}
	return explain("move marks", err)
}
