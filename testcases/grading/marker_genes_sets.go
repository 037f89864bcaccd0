package grading

import (
	"slices"

	"assay/testcases/grading/pyvalue"
)

// genes is what became of two sets of them, each sorted, as it was last spelled
// where it is from; those of both as in the answer.
type genes struct{ both, extra, missing pyvalue.List }

// spellings maps each gene in lower case to how it was last spelled.
func spellings(items pyvalue.List) map[string]string {
	spelled := map[string]string{}
	for _, item := range items {
		spelled[pyvalue.Lower(pyvalue.Text(item))] = pyvalue.Text(item)
	}
	return spelled
}

// lowered maps each gene in lower case to itself.
func lowered(items pyvalue.List) map[string]string {
	spelled := map[string]string{}
	for gene := range spellings(items) {
		spelled[gene] = gene
	}
	return spelled
}

func compareGenes(canonical, predicted map[string]string) genes {
	var both, extra, missing []string
	for gene, spelling := range predicted {
		if _, ok := canonical[gene]; ok {
			both = append(both, spelling)
		} else {
			extra = append(extra, spelling)
		}
	}
	for gene, spelling := range canonical {
		if _, ok := predicted[gene]; !ok {
			missing = append(missing, spelling)
		}
	}
	for _, names := range [][]string{both, extra, missing} {
		slices.Sort(names)
	}
	return genes{both: texts(both), extra: texts(extra), missing: texts(missing)}
}
