;;; assay-print.el --- Values and texts as the server can take them  -*- lexical-binding: t -*-

;;; Commentary:

;; Printing in a way that neither a cycle, nor depth, nor size can turn into a
;; hang, a crash or a broken message.  Nothing here runs code of the user's.

;;; Code:

(defconst assay-print--deepest 200
  "Nesting that `prin1' is trusted with: it recurs in C, without a bound.")

(defconst assay-print--largest 100000
  "Conses, slots and 16 characters of strings that `prin1' is trusted with.")

(defconst assay-print--unsound
  (format "[%c-%c%c-%c%c-%c]" #xD800 #xDFFF #x110000 #x3FFF7F #x3FFF80 #x3FFFFF)
  "Matches what Emacs has among its characters and Unicode has not.
The last range is raw bytes, which a longer one would not match.")

(defun assay-sound (text)
  "Return TEXT as a string of characters that UTF-8 has.
Raw bytes that are UTF-8 together become what they stand for, others U+FFFD."
  (let ((text (string-to-multibyte text)))
    (if (or (= (length text) (string-bytes text))
            (not (string-match-p assay-print--unsound text)))
        text
      (replace-regexp-in-string
       assay-print--unsound "\uFFFD"
       (decode-coding-string (encode-coding-string text 'utf-8-unix) 'utf-8-unix)
       t t))))

(defun assay-clip (text most)
  "Return TEXT, its middle left out where it is longer than MOST characters."
  (if (<= (length text) most)
      text
    (let ((half (/ most 2)))
      (format "%s\n... %d characters ...\n%s"
              (substring text 0 half) (- (length text) (* 2 half)) (substring text (- half))))))

(defmacro assay-print--plainly (&rest body)
  "Evaluate BODY with the settings of printing at their defaults."
  `(let ((print-length nil) (print-level nil) (print-circle t) (print-gensym nil)
         (print-quoted t) (print-escape-newlines nil) (print-escape-nonascii nil)
         (print-escape-multibyte nil) (print-integers-as-characters nil)
         (print-continuous-numbering nil) (print-number-table nil)
         (print-charset-text-property 'default) (float-output-format nil))
     ,@body))

(defun assay-print (value most)
  "Return VALUE as `prin1' shows it, with `print-circle', in MOST characters.
Of a longer text the middle is left out; of a value that is very large or very
deep only the beginning is shown.  It can be interrupted."
  (if (assay-print--modest-p value)
      (assay-clip (assay-sound (assay-print--plainly (prin1-to-string value))) most)
    (assay-print-head value most)))

(defun assay-print-head (value most)
  "Return the beginning of VALUE as `prin1' shows it, in MOST characters.
The time it takes does not depend on the value's size."
  (let ((chars nil)
        (left most)
        (end (list nil)))
    (catch end
      (assay-print--plainly
       (let ((print-circle nil)
             (print-level 20))
         (prin1 value (lambda (char)
                        (when (< left 1)
                          (setcar (nthcdr 2 chars) ?.)
                          (setcar (cdr chars) ?.)
                          (setcar chars ?.)
                          (throw end nil))
                        (push char chars)
                        (setq left (1- left)))))))
    (assay-sound (concat (nreverse chars)))))

(defun assay-describe (condition)
  "Return the text of CONDITION, whatever it is made of, at most 256 Ki characters."
  (assay-clip
   (assay-sound
    (condition-case nil
        (if (assay-print--modest-p condition)
            (let ((print-circle t)) (error-message-string condition))
          (format "%s: %s" (car condition) (assay-print-head (cdr condition) 1000)))
      (error (assay-print-head condition 1000))))
   (ash 256 10)))

(defun assay-print--modest-p (value)
  "Whether `prin1' can be trusted with VALUE: each part is looked at once."
  (let ((seen (make-hash-table :test #'eq))
        (items (list (cons value 0)))
        (left assay-print--largest))
    (while (and items (> left 0))
      (let* ((item (pop items))
             (part (car item))
             (depth (cdr item)))
        (setq left (- left (assay-print--weight part)))
        (cond
         ((or (<= left 0) (assay-print--single-p part) (gethash part seen)))
         ((> depth assay-print--deepest) (setq left 0))
         (t (puthash part t seen)
            (setq items (assay-print--parts part depth items))))))
    (> left 0)))

(defun assay-print--single-p (part)
  "Whether PART has no parts that are printed."
  (not (or (consp part) (vectorp part) (recordp part) (hash-table-p part)
           (byte-code-function-p part))))

(defun assay-print--weight (part)
  "What PART costs of `assay-print--largest', its own parts left aside."
  (cond ((or (stringp part) (bool-vector-p part)) (1+ (/ (length part) 16)))
        ((or (vectorp part) (recordp part)) (1+ (length part)))
        ((hash-table-p part) (1+ (hash-table-count part)))
        ((char-table-p part) assay-print--largest)
        (t 1)))

(defun assay-print--parts (part depth items)
  "Return ITEMS with the parts of PART, which is at DEPTH, before them.
A list goes on in its cdr, which is no deeper."
  (cond
   ((consp part)
    (cons (cons (car part) (1+ depth)) (cons (cons (cdr part) depth) items)))
   ((hash-table-p part)
    (maphash (lambda (key value)
               (push (cons key (1+ depth)) items)
               (push (cons value (1+ depth)) items))
             part)
    items)
   (t
    (dotimes (i (length part))
      (push (cons (aref part i) (1+ depth)) items))
    items)))

(provide 'assay-print)
;;; assay-print.el ends here
