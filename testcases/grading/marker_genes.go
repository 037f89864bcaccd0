package grading

import (
	"fmt"
	"slices"

	"assay/testcases/grading/pyvalue"
)

// gradeMarkerGenes passes if the answered marker genes have enough precision, the share
// of them that is canonical, and recall, the share of the canonical genes that is among
// them. Genes are compared in lower case. If both sides are objects from cell type to
// genes, it checks instead how many types have enough recall.
//
// If the answer lacks the field, its first list or object is graded instead.
func gradeMarkerGenes(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	canonical := getOrDefault(config, "canonical_markers", getOrDefault(config, "ground_truth_labels", pyvalue.List{}))
	scoring, err := getConfigSection(config, "scoring")
	if err != nil {
		return Result{}, err
	}
	field, predicted, err := markerGenesField(answer, getOrDefault(config, "answer_field", pyvalue.String("top_marker_genes")))
	if err != nil {
		return Result{}, err
	}
	g := markerGrader{report: newGraderReport("Marker genes"), scoring: scoring, field: field}
	if predicted == nil {
		return g.report.missingFieldsResult(answer, pyvalue.Str(field)), nil
	}
	byType, ok := canonical.(*pyvalue.Object)
	if ok {
		if answered, both := predicted.(*pyvalue.Object); both {
			return g.gradeCellTypes(byType, answered)
		}
		entry, err := pythonItemIfContained(byType, field)
		if err != nil {
			return Result{}, err
		}
		if entry != nil {
			canonical = entry
		}
	}
	return g.gradeTwoLists(canonical, predicted)
}

// markerGenesField returns the name of the answer's field that is graded as marker
// genes, and its value, or nil if there is none.
func markerGenesField(answer, field pyvalue.Value) (chosen, predicted pyvalue.Value, err error) {
	predicted, err = pythonItemIfContained(answer, field)
	if err != nil || predicted != nil {
		return field, predicted, err
	}
	object, ok := answer.(*pyvalue.Object)
	if !ok {
		return nil, nil, pyvalue.TypeError("the answer: want an object, found %s", pyvalue.KindOf(answer))
	}
	for key, v := range object.All() {
		if kind := pyvalue.KindOf(v); kind == "list" || kind == "object" {
			return pyvalue.String(key), v, nil
		}
	}
	return field, nil, nil
}

// markerGrader grades the marker genes in one field of an answer.
type markerGrader struct {
	report  *graderReport
	scoring *pyvalue.Object
	field   pyvalue.Value
}

// gradeTwoLists grades the answer's marker genes against the canonical ones if both are
// lists. Values of another kind fail.
func (g markerGrader) gradeTwoLists(canonical, predicted pyvalue.Value) (Result, error) {
	given, isList := predicted.(pyvalue.List)
	if !isList {
		g.report.addFailure(pyvalue.Str(g.field) + ": want a list, found " + formatValue(predicted))
		return g.report.binaryResult(), nil
	}
	wanted, isList := canonical.(pyvalue.List)
	if !isList {
		g.report.addFailure("the case's canonical markers for " + pyvalue.Str(g.field) + " are not a list but " + formatValue(canonical))
		return g.report.binaryResult(), nil
	}
	return g.compareLists(wanted, given)
}

// compareLists compares two lists of genes. Precision is relative to the number of
// answered genes, repetitions included; recall is relative to the number of distinct
// canonical ones.
func (g markerGrader) compareLists(wanted, given pyvalue.List) (Result, error) {
	thresholds, err := getConfigSection(g.scoring, "pass_thresholds")
	if err != nil {
		return Result{}, err
	}
	leastPrecision := getOrDefault(thresholds, "precision_at_k", pyvalue.Float(0.6))
	leastRecall := getOrDefault(thresholds, "recall_at_k", pyvalue.Float(0.5))
	if err := checkFitsFloat(leastPrecision, leastRecall); err != nil {
		return Result{}, err
	}
	c := compareGenes(spellingsByGene(wanted), spellingsByGene(given))
	precision, recall := ratioOrZero(len(c.common), len(given)), ratioOrZero(len(c.common), len(c.common)+len(c.missing))
	precise, err := g.report.requireAtLeast("precision", precision, leastPrecision)
	if err != nil {
		return Result{}, err
	}
	complete, err := g.report.requireAtLeast("recall", recall, leastRecall)
	if err != nil {
		return Result{}, err
	}
	g.report.addListLine(true, "canonical", c.common)
	g.report.addListLine(false, "missing", c.missing)
	g.report.addListLine(false, "not canonical", c.extra)

	m := g.report.metrics
	m.Set("k", listLengthValue(given))
	m.Set("precision_at_k", precision)
	m.Set("recall_at_k", recall)
	m.Set("precision_threshold", leastPrecision)
	m.Set("recall_threshold", leastRecall)
	m.Set("true_positives", c.common)
	m.Set("false_positives", c.extra)
	m.Set("false_negatives", c.missing)
	m.Set("num_true_positives", listLengthValue(c.common))
	m.Set("num_false_positives", listLengthValue(c.extra))
	m.Set("num_false_negatives", listLengthValue(c.missing))
	m.Set("num_canonical_markers", pyvalue.NewInt(int64(len(c.common)+len(c.missing))))
	m.Set("precision_pass", pyvalue.Bool(precise))
	m.Set("recall_pass", pyvalue.Bool(complete))
	m.Set("answer_field_used", g.field)
	return g.report.binaryResult(), nil
}

// gradeCellTypes checks the recall of each canonical cell type, and passes if enough
// types have enough recall. Other cell types of the answer do not count.
func (g markerGrader) gradeCellTypes(canonical, predicted *pyvalue.Object) (Result, error) {
	thresholds, err := getConfigSection(g.scoring, "pass_thresholds")
	if err != nil {
		return Result{}, err
	}
	leastRecall := getOrDefault(thresholds, "min_recall_per_celltype", getOrDefault(thresholds, "recall_at_k", pyvalue.Float(0.5)))
	leastTypes := getOrDefault(thresholds, "min_celltypes_passing", pyvalue.NewInt(int64(canonical.Len())))
	perType, passing := &pyvalue.Object{}, int64(0)
	for name, wanted := range canonical.All() {
		outcome, ok, err := g.gradeCellType(name, wanted, getOrDefault(predicted, name, pyvalue.List{}), leastRecall)
		if err != nil {
			return Result{}, err
		}
		perType.Set(name, outcome)
		if ok {
			passing++
		}
	}
	enough, err := pyvalue.LessOrEqual(leastTypes, pyvalue.NewInt(passing))
	if err != nil {
		return Result{}, err
	}
	if !enough {
		g.report.addFailure(fmt.Sprintf("%d of %d cell types pass, expected at least %s", passing, canonical.Len(), formatValue(leastTypes)))
	}
	m := g.report.metrics
	m.Set("celltypes_passing", pyvalue.NewInt(passing))
	m.Set("total_celltypes", pyvalue.NewInt(int64(canonical.Len())))
	m.Set("min_celltypes_passing", leastTypes)
	m.Set("min_recall_per_celltype", leastRecall)
	m.Set("per_celltype", perType)
	m.Set("answer_field_used", g.field)
	return g.report.binaryResult(), nil
}

// gradeCellType grades the genes of one cell type and reports the result as a line, not
// as a failure: only the number of passing types decides. It is an error if the
// threshold does not fit a float64.
func (g markerGrader) gradeCellType(name string, wanted, given, least pyvalue.Value) (outcome *pyvalue.Object, ok bool, err error) {
	if err := checkFitsFloat(least); err != nil {
		return nil, false, err
	}
	items, isList := given.(pyvalue.List)
	if !isList {
		g.report.addLine(false, name+": want a list, found "+pyvalue.KindOf(given))
		outcome = pyvalue.NewObject("pass", pyvalue.Bool(false))
		outcome.Set("recall", pyvalue.Float(0))
		outcome.Set("error", pyvalue.String("Expected list, got "+pyvalue.PythonTypeName(given))) // part of the metrics' format, so it is worded as in the reference
		return outcome, false, nil
	}
	members, err := pyvalue.IterateItems("canonical_markers."+name, wanted)
	if err != nil {
		return nil, false, err
	}
	c := compareGenes(lowerCaseGenes(members), lowerCaseGenes(items))
	recall := pyvalue.Float(1)
	if len(c.common)+len(c.missing) > 0 {
		recall = ratioOrZero(len(c.common), len(c.common)+len(c.missing))
	}
	if ok, err = pyvalue.LessOrEqual(least, recall); err != nil {
		return nil, false, err
	}
	text := fmt.Sprintf("%s: recall %s, expected at least %s", name, formatValue(recall), formatValue(least))
	if len(c.missing) > 0 {
		text += "; missing: " + formatValue(c.missing)
	}
	g.report.addLine(ok, text)
	outcome = pyvalue.NewObject("pass", pyvalue.Bool(ok))
	outcome.Set("recall", recall)
	outcome.Set("num_predicted", listLengthValue(items))
	outcome.Set("num_canonical", pyvalue.NewInt(int64(len(c.common)+len(c.missing))))
	outcome.Set("true_positives", c.common)
	outcome.Set("false_negatives", c.missing)
	return outcome, ok, nil
}

// geneComparison is the result of comparing two sets of genes: those in both, and those
// in only one. Each list is sorted. Genes have the spelling of the last occurrence on
// their side; genes in both have that of the answer.
type geneComparison struct{ common, extra, missing pyvalue.List }

// spellingsByGene returns the last spelling of each gene, with the gene in lower case
// as the key.
func spellingsByGene(items pyvalue.List) map[string]string {
	spelled := map[string]string{}
	for _, item := range items {
		spelled[pyvalue.Lower(pyvalue.Str(item))] = pyvalue.Str(item)
	}
	return spelled
}

// lowerCaseGenes returns the genes in lower case, each mapped to itself.
func lowerCaseGenes(items pyvalue.List) map[string]string {
	spelled := map[string]string{}
	for gene := range spellingsByGene(items) {
		spelled[gene] = gene
	}
	return spelled
}

// compareGenes compares two sets of genes that are given as maps from lower case to
// spelling.
func compareGenes(canonical, predicted map[string]string) geneComparison {
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
	return geneComparison{common: toStringValues(both), extra: toStringValues(extra), missing: toStringValues(missing)}
}
