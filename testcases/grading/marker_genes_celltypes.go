package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// cellTypes asks of each canonical cell type what share of its genes the answer
// has, and passes when enough types have enough. Other types do not count.
func (g markerGrader) cellTypes(canonical, predicted *pyvalue.Object) (Result, error) {
	thresholds, err := section(g.scoring, "pass_thresholds")
	if err != nil {
		return Result{}, err
	}
	leastRecall := orElse(thresholds, "min_recall_per_celltype", orElse(thresholds, "recall_at_k", pyvalue.Float(0.5)))
	leastTypes := orElse(thresholds, "min_celltypes_passing", pyvalue.NewInt(int64(canonical.Len())))
	perType, passing := &pyvalue.Object{}, int64(0)
	for name, wanted := range canonical.All() {
		outcome, ok, err := g.cellType(name, wanted, orElse(predicted, name, pyvalue.List{}), leastRecall)
		if err != nil {
			return Result{}, err
		}
		perType.Set(name, outcome)
		if ok {
			passing++
		}
	}
	enough, err := pyvalue.AtMost(leastTypes, pyvalue.NewInt(passing))
	if err != nil {
		return Result{}, err
	}
	if !enough {
		g.report.fail(fmt.Sprintf("%d of %d cell types pass, expected at least %s", passing, canonical.Len(), show(leastTypes)))
	}
	m := g.report.metrics
	m.Set("celltypes_passing", pyvalue.NewInt(passing))
	m.Set("total_celltypes", pyvalue.NewInt(int64(canonical.Len())))
	m.Set("min_celltypes_passing", leastTypes)
	m.Set("min_recall_per_celltype", leastRecall)
	m.Set("per_celltype", perType)
	m.Set("answer_field_used", g.field)
	return g.report.verdict(), nil
}

// cellType grades one type, and reports it as a line: it is the number of types
// that fails. The threshold must fit a double.
func (g markerGrader) cellType(name string, wanted, given, least pyvalue.Value) (outcome *pyvalue.Object, ok bool, err error) {
	if err := decimals(least); err != nil {
		return nil, false, err
	}
	items, isList := given.(pyvalue.List)
	if !isList {
		g.report.line(false, name+": want a list, found "+pyvalue.KindOf(given))
		outcome = pyvalue.NewObject("pass", pyvalue.Bool(false))
		outcome.Set("recall", pyvalue.Float(0))
		outcome.Set("error", pyvalue.String("Expected list, got "+pyvalue.TypeName(given))) // a metric, so its wording is part of the format
		return outcome, false, nil
	}
	members, err := pyvalue.Iterate("canonical_markers."+name, wanted)
	if err != nil {
		return nil, false, err
	}
	c := compareGenes(lowered(members), lowered(items))
	recall := pyvalue.Float(1)
	if len(c.both)+len(c.missing) > 0 {
		recall = ratio(len(c.both), len(c.both)+len(c.missing))
	}
	if ok, err = pyvalue.AtMost(least, recall); err != nil {
		return nil, false, err
	}
	text := fmt.Sprintf("%s: recall %s, expected at least %s", name, show(recall), show(least))
	if len(c.missing) > 0 {
		text += "; missing: " + show(c.missing)
	}
	g.report.line(ok, text)
	outcome = pyvalue.NewObject("pass", pyvalue.Bool(ok))
	outcome.Set("recall", recall)
	outcome.Set("num_predicted", count(items))
	outcome.Set("num_canonical", pyvalue.NewInt(int64(len(c.both)+len(c.missing))))
	outcome.Set("true_positives", c.both)
	outcome.Set("false_negatives", c.missing)
	return outcome, ok, nil
}
