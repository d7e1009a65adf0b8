# What scripts/bench lets a Ruby guest do: calls, arrays, hashes, strings, regular expressions, big integers. It knows
# what this must print.
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
words = (1..20_000).map { |i| (i * 7919 % 10_007).to_s(36) }
counts = words.each_with_object(Hash.new(0)) { |word, found| found[word] += 1 }
text = words.sort.join(" ")
puts [fib(25), counts.size, text.scan(/[a-f]+\d/).size, (1..200).reduce(:*).digits.sum].join(" ")
