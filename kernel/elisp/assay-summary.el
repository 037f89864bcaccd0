;;; assay-summary.el --- Describe variables and functions  -*- lexical-binding: t -*-

;;; Commentary:

;; Only the beginning of a value is printed, so that a summary is fast, and no
;; code of the user runs for it.

;;; Code:

(require 'assay-names)
(require 'assay-print)

(defconst assay-summary--max-names 500 "Most names in a summary.")
(defconst assay-summary--max-repr 1000 "Longest printed value in characters.")

(defun assay-summary ()
  "Return the summary of the user's names, as the fields of an answer."
  (let* ((names (assay-names))
         (rest (nthcdr assay-summary--max-names names))
         (summary (make-hash-table :test #'equal)))
    (while (not (eq names rest))
      (let ((name (pop names)))
        (puthash (assay-valid-unicode (symbol-name (car name))) (assay-summary-describe name) summary)))
    (list :summary summary :truncated (if rest t :false))))

(defun assay-summary-describe (name)
  "Return a description of NAME, a (SYMBOL . KINDS), preferably as a variable."
  (let ((symbol (car name)))
    (if (assay-names-variable-p (cdr name))
        (assay-summary--value (symbol-value symbol))
      (list :type (if (macrop symbol) "macro" "function")
            :repr (assay-print-head (cons symbol (assay-summary--arguments symbol))
                                    assay-summary--max-repr)))))

(defun assay-summary--value (value)
  "Return a description of VALUE."
  (let ((length (assay-summary--length value)))
    `( :type ,(assay-valid-unicode (format "%s" (type-of value)))
       :repr ,(assay-print-head value assay-summary--max-repr)
       ,@(and length (list :len length)))))

(defun assay-summary--length (value)
  "Return the number of elements of VALUE, or nil if it is no finite sequence."
  (cond ((listp value) (proper-list-p value))
        ((arrayp value) (length value))
        ((hash-table-p value) (hash-table-count value))))

(defun assay-summary--arguments (symbol)
  "Return the argument list of the function or macro SYMBOL, or nil."
  (condition-case nil
      (let ((arguments (help-function-arglist symbol t)))
        (and (listp arguments) arguments))
    (error nil)))

(provide 'assay-summary)
;;; assay-summary.el ends here
