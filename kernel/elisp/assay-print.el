;;; assay-print.el --- Print values and texts for the server  -*- lexical-binding: t -*-

;;; Commentary:

;; Print in a way that cycles, depth or size of a value can cause neither a hang
;; nor a crash nor an invalid message.  Nothing here runs code of the user.

;;; Code:

(defconst assay-print--max-depth 200
  "Deepest nesting that is printed with `prin1', which recurs in C without limit.")

(defconst assay-print--max-weight 100000
  "Largest value printed with `prin1', in conses, slots and 16 characters.")

(defconst assay-print--invalid-regexp
  (format "[%c-%c%c-%c%c-%c]" #xD800 #xDFFF #x110000 #x3FFF7F #x3FFF80 #x3FFFFF)
  "Matches characters of Emacs that are not in Unicode.
The last range is raw bytes, which a longer range would not match.")

(defun assay-valid-unicode (text)
  "Return TEXT as a string of Unicode characters.
Raw bytes that together are UTF-8 are decoded; others become U+FFFD."
  (let ((text (string-to-multibyte text)))
    (if (or (= (length text) (string-bytes text))
            (not (string-match-p assay-print--invalid-regexp text)))
        text
      (replace-regexp-in-string
       assay-print--invalid-regexp "\uFFFD"
       (decode-coding-string (encode-coding-string text 'utf-8-unix) 'utf-8-unix)
       t t))))

(defun assay-truncate-middle (text max)
  "Return TEXT without its middle if it is longer than MAX characters."
  (if (<= (length text) max)
      text
    (let ((half (/ max 2)))
      (format "%s\n... %d characters ...\n%s"
              (substring text 0 half) (- (length text) (* 2 half)) (substring text (- half))))))

(defmacro assay-print--with-default-settings (&rest body)
  "Evaluate BODY with default settings for printing."
  `(let ((print-length nil) (print-level nil) (print-circle t) (print-gensym nil)
         (print-quoted t) (print-escape-newlines nil) (print-escape-nonascii nil)
         (print-escape-multibyte nil) (print-integers-as-characters nil)
         (print-continuous-numbering nil) (print-number-table nil)
         (print-charset-text-property 'default) (float-output-format nil))
     ,@body))

(defun assay-print (value max)
  "Return VALUE as `prin1' prints it, with `print-circle', in MAX characters.
Leave out the middle of a longer text.  Print only the beginning of a value that
is very large or very deep.  This can be interrupted."
  (if (assay-print--safe-p value)
      (assay-truncate-middle (assay-valid-unicode (assay-print--with-default-settings (prin1-to-string value))) max)
    (assay-print-head value max)))

(defun assay-print-head (value max)
  "Return the beginning of VALUE as `prin1' prints it, in MAX characters.
The time this takes does not depend on the size of VALUE."
  (let ((chars nil)
        (left max)
        (end (list nil)))
    (catch end
      (assay-print--with-default-settings
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
    (assay-valid-unicode (concat (nreverse chars)))))

(defun assay-describe (condition)
  "Return the text of CONDITION, even a malformed one, in 256 Ki characters."
  (assay-truncate-middle
   (assay-valid-unicode
    (condition-case nil
        (if (assay-print--safe-p condition)
            (let ((print-circle t)) (error-message-string condition))
          (format "%s: %s" (car condition) (assay-print-head (cdr condition) 1000)))
      (error (assay-print-head condition 1000))))
   (ash 256 10)))

(defun assay-print--safe-p (value)
  "Return whether VALUE is small and shallow enough for `prin1'."
  (let ((seen (make-hash-table :test #'eq))
        (items (list (cons value 0)))
        (left assay-print--max-weight))
    (while (and items (> left 0))
      (let* ((item (pop items))
             (part (car item))
             (depth (cdr item)))
        (setq left (- left (assay-print--weight part)))
        (cond
         ((or (<= left 0) (assay-print--atomic-p part) (gethash part seen)))
         ((> depth assay-print--max-depth) (setq left 0))
         (t (puthash part t seen)
            (setq items (assay-print--push-parts part depth items))))))
    (> left 0)))

(defun assay-print--atomic-p (part)
  "Return whether PART has no parts that are printed."
  (not (or (consp part) (vectorp part) (recordp part) (hash-table-p part)
           (byte-code-function-p part))))

(defun assay-print--weight (part)
  "Return the weight of PART for `assay-print--max-weight', without its parts."
  (cond ((or (stringp part) (bool-vector-p part)) (1+ (/ (length part) 16)))
        ((or (vectorp part) (recordp part)) (1+ (length part)))
        ((hash-table-p part) (1+ (hash-table-count part)))
        ((char-table-p part) assay-print--max-weight)
        (t 1)))

(defun assay-print--push-parts (part depth items)
  "Return ITEMS with the parts of PART, which is at DEPTH, in front.
The cdr of a cons has the same depth."
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
