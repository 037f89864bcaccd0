package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// gradeMarkerSeparation passes when the mean AUROC that the answer reports, and the
// share of its genes whose AUROC is high, are at least thresholds. The mean of
// the genes is calculated, too, and compared with nothing.
func gradeMarkerSeparation(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	thresholds, err := passThresholds(config)
	if err != nil {
		return Result{}, err
	}
	r := newReport("Marker gene separation")
	given, missing, err := requireFields(answer, "per_gene_stats", "mean_auroc")
	if err != nil || missing != nil {
		return r.missingFieldsResult(answer, missing...), err
	}
	stats, _ := given.Get("per_gene_stats").(pyvalue.List)
	genes, fault, err := readAUROCs(stats)
	if err != nil {
		return Result{}, err
	}
	if fault != "" {
		r.addFailure(fault)
		return r.binaryResult(), nil
	}
	s := &separationGrader{
		report: r, genes: genes, rows: len(stats), reported: given.Get("mean_auroc"),
		leastMean:     getOr(thresholds, "mean_auroc", pyvalue.Float(0.85)),
		leastFraction: getOr(thresholds, "fraction_high", pyvalue.Float(0.7)),
		cutoff:        getOr(thresholds, "per_gene_cutoff", pyvalue.Float(0.8)),
	}
	return s.grade()
}

// readAUROCs reads what the answer says of each gene: of several rows for one, the
// last counts. fault says what is wrong with the rows, "" if nothing is.
func readAUROCs(stats pyvalue.List) (genes *pyvalue.Dict, fault string, err error) {
	if len(stats) == 0 {
		return nil, "per_gene_stats: want a list of at least one", nil
	}
	genes = &pyvalue.Dict{}
	for i, item := range stats {
		stat, _ := item.(*pyvalue.Object)
		if !stat.Has("gene") || !stat.Has("auroc") {
			return nil, fmt.Sprintf("per_gene_stats[%d]: want an object with gene and auroc, found %s", i, showValue(item)), nil
		}
		if err := genes.Put(stat.Get("gene"), stat.Get("auroc")); err != nil {
			return nil, "", err
		}
	}
	return genes, "", nil
}

// separationConfig is what the answer reports, what it is held to, and what measure
// makes of it.
type separationGrader struct {
	report                           *report
	genes                            *pyvalue.Dict
	rows                             int           // with repetitions
	reported                         pyvalue.Value // the answer's own mean
	leastMean, leastFraction, cutoff pyvalue.Value

	mean      pyvalue.Value
	high, low pyvalue.List
	fraction  pyvalue.Float
}

func (s *separationGrader) grade() (Result, error) {
	if err := s.measure(); err != nil {
		return Result{}, err
	}
	if err := checkFitsFloat(s.reported, s.leastMean, s.cutoff); err != nil {
		return Result{}, err
	}
	meanPass, err := s.report.requireAtLeast("reported mean AUROC", s.reported, s.leastMean)
	if err != nil {
		return Result{}, err
	}
	fractionPass, err := s.report.requireAtLeast("share of genes with an AUROC of at least "+showValue(s.cutoff), s.fraction, s.leastFraction)
	if err == nil && !fractionPass {
		err = checkFitsFloat(s.leastFraction) // which is written then only
	}
	if err != nil {
		return Result{}, err
	}
	s.report.addItems(false, "below", s.low)
	s.record(meanPass, fractionPass)
	return s.report.binaryResult(), nil
}

func (s *separationGrader) record(meanPass, fractionPass bool) {
	m := s.report.metrics
	m.Set("num_genes", pyvalue.NewInt(int64(s.rows)))
	m.Set("mean_auroc_agent", s.reported)
	m.Set("mean_auroc_computed", s.mean)
	m.Set("mean_auroc_threshold", s.leastMean)
	m.Set("fraction_high", s.fraction)
	m.Set("fraction_high_threshold", s.leastFraction)
	m.Set("per_gene_cutoff", s.cutoff)
	m.Set("num_high_auroc_genes", lengthOf(s.high))
	m.Set("num_low_auroc_genes", lengthOf(s.low))
	m.Set("high_auroc_genes", s.high)
	m.Set("low_auroc_genes", s.low)
	m.Set("mean_auroc_pass", pyvalue.Bool(meanPass))
	m.Set("fraction_high_pass", pyvalue.Bool(fractionPass))
	m.Set("per_gene_aurocs", s.perGene())
}

// measure calculates the mean, adding from the left, and the share of high genes
// in all rows.
func (s *separationGrader) measure() error {
	var sum pyvalue.Value = pyvalue.NewInt(0)
	var err error
	for _, gene := range s.genes.Keys() {
		if sum, err = pyvalue.Add(sum, s.genes.Get(gene)); err != nil {
			return err
		}
	}
	if s.mean, err = pyvalue.Divide(sum, lengthOf(s.genes.Keys())); err != nil {
		return err
	}
	s.high, s.low, err = s.split()
	s.fraction = ratio(len(s.high), s.rows)
	return err
}

// split sorts the genes into those at or above the cutoff and those below. NaN is
// neither.
func (s *separationGrader) split() (high, low pyvalue.List, err error) {
	for _, gene := range s.genes.Keys() {
		auroc := s.genes.Get(gene)
		isHigh, err := pyvalue.AtMost(s.cutoff, auroc)
		if err != nil {
			return nil, nil, err
		}
		if isHigh {
			high = append(high, gene)
		} else if isLow, _ := pyvalue.Less(auroc, s.cutoff); isLow {
			low = append(low, gene)
		}
	}
	if high, err = pyvalue.Sorted(high); err != nil {
		return nil, nil, err
	}
	low, err = pyvalue.Sorted(low)
	return high, low, err
}

// perGene is the genes as an object, whose keys are text: a gene that is none is
// written as JSON has it.
func (s *separationGrader) perGene() *pyvalue.Object {
	object := &pyvalue.Object{}
	for _, gene := range s.genes.Keys() {
		object.Set(pyvalue.JSONKey(gene), s.genes.Get(gene))
	}
	return object
}
