// Command serializable plays the exhibit of that name; see the README next to it.
package main

import (
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/serializable"
)

func main() { exhibit.Main(serializable.Exhibit()) }
