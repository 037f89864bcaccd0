;;; assay-summary.el --- What is told of a variable or function  -*- lexical-binding: t -*-

;;; Commentary:

;; Values are shown by their beginning, so that a summary takes no time, and no
;; code of the user's runs for it.

;;; Code:

(require 'assay-names)
(require 'assay-print)

(defconst assay-summary--most 500 "Names in a summary.")
(defconst assay-summary--repr 1000 "Characters of a value.")

(defun assay-summary ()
  "Return the summary of the user's names, as the fields of an answer."
  (let* ((names (assay-names))
         (rest (nthcdr assay-summary--most names))
         (summary (make-hash-table :test #'equal)))
    (while (not (eq names rest))
      (let ((name (pop names)))
        (puthash (assay-sound (symbol-name (car name))) (assay-summary-describe name) summary)))
    (list :summary summary :truncated (if rest t :false))))

(defun assay-summary-describe (name)
  "Return what is told of NAME, a (SYMBOL . WHAT): of a variable, else a function."
  (let ((symbol (car name)))
    (if (assay-names-variable-p (cdr name))
        (assay-summary--value (symbol-value symbol))
      (list :type (if (macrop symbol) "macro" "function")
            :repr (assay-print-head (cons symbol (assay-summary--arguments symbol))
                                    assay-summary--repr)))))

(defun assay-summary--value (value)
  "Return what is told of VALUE."
  (let ((length (assay-summary--length value)))
    `( :type ,(assay-sound (format "%s" (type-of value)))
       :repr ,(assay-print-head value assay-summary--repr)
       ,@(and length (list :len length)))))

(defun assay-summary--length (value)
  "Return how many elements VALUE has, nil where it is no sequence that ends."
  (cond ((listp value) (proper-list-p value))
        ((arrayp value) (length value))
        ((hash-table-p value) (hash-table-count value))))

(defun assay-summary--arguments (symbol)
  "Return the arguments of the function or macro SYMBOL as they are declared."
  (condition-case nil
      (let ((arguments (help-function-arglist symbol t)))
        (and (listp arguments) arguments))
    (error nil)))

(provide 'assay-summary)
;;; assay-summary.el ends here
