// Command xidorder plays the exhibit of that name; see the README next to it.
package main

import (
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/xidorder"
)

func main() { exhibit.Main(xidorder.Exhibit()) }
