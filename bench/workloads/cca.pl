# Extracts the preprocessor's logic from C text: what is included under which conditions, how deeply, and
# which macros decide it; with statistics, and a graph of the logic in PostScript. After the program of this
# name that jemalloc's paper of 2006 ran: regular expressions, strings, nested arrays and hashes.
#
# usage: perl cca.pl FILE [HEADERS]   (the file's headers begin with "//== NAME"; all of them, or the first)
use strict;
use warnings;

my ($file, $limit) = @ARGV;
open my $in, '<', $file or die "$file: $!\n";
my @headers = grep { length } split m{^(?=//==\ )}mx, do { local $/; <$in> };
close $in;
splice @headers, $limit if defined $limit && $limit < @headers;

my (%count, %macro, %condition, %lines_at, %guarded_by, @graph);
my $total_lines = 0;

# Comments go, strings stay; what a backslash joins becomes one line.
sub plain {
    my ($text) = @_;
    $text =~ s{\\\n}{ }g;
    $text =~ s{("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|/\*.*?\*/|//[^\n]*}{defined $1 ? $1 : ' '}gse;
    return $text;
}

# An expression of #if as a tree: [operator, operands…], or a leaf's text.
my @tokens;
my %level = ('||' => 1, '&&' => 2, '==' => 3, '!=' => 3, '<' => 4, '>' => 4, '<=' => 4, '>=' => 4,
             '<<' => 5, '>>' => 5, '+' => 6, '-' => 6, '*' => 7, '/' => 7, '%' => 7);

sub primary {
    my $token = shift @tokens;
    die "an expression ends too early\n" unless defined $token;
    return ['!', primary()] if $token eq '!';
    if ($token eq '(') {
        my $inner = expression(1);
        (shift @tokens // '') eq ')' or die "no closing parenthesis\n";
        return $inner;
    }
    if ($token eq 'defined') {
        my $name = shift @tokens;
        if ($name eq '(') { $name = shift @tokens; shift @tokens; }
        return ['defined', $name];
    }
    return $token;
}

sub expression {
    my ($least) = @_;
    my $left = primary();
    while (@tokens && ($level{$tokens[0]} // 0) >= $least) {
        my $operator = shift @tokens;
        my $right = expression($level{$operator} + 1);
        if (ref $left && $left->[0] eq $operator && $level{$operator} <= 2) {
            $left = [@$left, $right];
        } else {
            $left = [$operator, $left, $right];
        }
    }
    return $left;
}

# Negations are pushed inwards, operands of && and || sorted and made unique: equal logic is equal text.
sub normal {
    my ($tree, $negated) = @_;
    return $negated ? "!$tree" : $tree unless ref $tree;
    my ($operator, @operands) = @$tree;
    return normal($operands[0], !$negated) if $operator eq '!';
    if ($operator eq 'defined') {
        $macro{$operands[0]}{asked}++;
        return ($negated ? '!' : '') . "defined $operands[0]";
    }
    if ($operator eq '&&' || $operator eq '||') {
        my %seen;
        my @texts = sort grep { !$seen{$_}++ } map { normal($_, $negated) } @operands;
        my $join = $negated ? ($operator eq '&&' ? '||' : '&&') : $operator;
        return @texts == 1 ? $texts[0] : '(' . join(" $join ", @texts) . ')';
    }
    my $text = join " $operator ", map { normal($_, 0) } @operands;
    $macro{$_}{compared}++ for $text =~ /\b([A-Za-z_]\w*)\b/g;
    return $negated ? "!($text)" : "($text)";
}

sub understand {
    my ($text) = @_;
    my $word = qr/[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*/;
    @tokens = $text =~ /($word|&&|\|\||[=!<>]=|<<|>>|[-+*\/%<>!()])/g;
    my $tree = expression(1);
    die "left over: @tokens\n" if @tokens;
    return normal($tree, 0);
}

sub define {
    my ($rest, $under) = @_;
    my ($name, $parameters, $body) = $rest =~ /^(\w+)(\([^)]*\))?\s*(.*)$/s or die "#define $rest\n";
    if (defined $parameters) {
        my %place;
        @place{grep { length } split /\W+/, $parameters} = ();
        $place{$_}++ for grep { exists $place{$_} } $body =~ /\b([A-Za-z_]\w*)\b/g;
        $macro{$name}{uses} = join ' ', map { "$_:" . ($place{$_} // 0) } sort keys %place;
        $count{functions}++;
    } elsif (length $body) {
        $macro{$name}{value} = $body;
        $count{constants}++;
    }
    $macro{$name}{defined}++;
    push @{$macro{$name}{under}}, join ' && ', @$under;
}

# One header: its conditional groups as nested boxes, each {condition, from, to, inner => […]}.
sub examine {
    my ($text) = @_;
    my ($name) = $text =~ m{^//==\ (\S+)}x or die "a header without a name\n";
    my $file = {condition => $name, from => 1, inner => []};
    my (@open, @under, @taken);
    my $line = 0;
    for (split /\n/, plain($text)) {
        $line++;
        $lines_at{scalar @open}++;
        next unless /^\s*#\s*([a-z]+)\b\s*(.*?)\s*$/;
        my ($kind, $rest) = ($1, $2);
        $count{$kind}++;
        if ($kind =~ /^if(n?def)?$/) {
            my $how = $1 // '';
            my $asked = $how eq '' ? $rest : $how eq 'def' ? "defined($rest)" : "!defined($rest)";
            my $logic = understand($asked);
            my $box = {condition => $logic, from => $line, inner => []};
            push @{(@open ? $open[-1] : $file)->{inner}}, $box;
            push @open, $box;
            push @under, $logic;
            push @taken, [$logic];
            $condition{$logic}++;
            $count{depth} = @open if @open > ($count{depth} // 0);
        } elsif ($kind eq 'elif' || $kind eq 'else') {
            @open or die "$name:$line: #$kind without #if\n";
            my @not = map { "!($_)" } @{$taken[-1]};
            my $logic = join ' && ', @not, ($kind eq 'elif' ? understand($rest) : ());
            push @{$taken[-1]}, $logic if $kind eq 'elif';
            $under[-1] = $logic;
            $condition{$logic}++;
        } elsif ($kind eq 'endif') {
            @open or die "$name:$line: #endif without #if\n";
            (pop @open)->{to} = $line;
            pop @under;
            pop @taken;
        } elsif ($kind eq 'define') {
            define($rest, \@under);
        } elsif ($kind eq 'include') {
            push @{$guarded_by{$rest}}, [$name, @under];
        }
    }
    die "$name: #if without #endif\n" if @open;
    $file->{to} = $line;
    $total_lines += $line;
    return $file;
}

sub draw {
    my ($box, $depth) = @_;
    (my $text = substr $box->{condition}, 0, 60) =~ s/([\\()])/\\$1/g;
    my $height = $box->{to} - $box->{from} + 1;
    my ($x, $y, $gray) = ($depth * 9, -$box->{from}, 1 - $depth / 12);
    push @graph, sprintf "%.1f setgray %d %d %d %d rectfill", $gray, $x, $y, 9, -$height;
    push @graph, sprintf "0 setgray %d %d moveto (%s) show", $x + 2, $y, $text;
    draw($_, $depth + 1) for @{$box->{inner}};
}

for (@headers) {
    my $file = examine($_);
    push @graph, "gsave % $file->{condition}";
    draw($file, 0);
    push @graph, 'grestore showpage';
}

print "count $_ $count{$_}\n" for sort keys %count;
print "lines $total_lines\n";
print "depth $_ $lines_at{$_}\n" for sort { $a <=> $b } keys %lines_at;
my @by_use = sort { $condition{$b} <=> $condition{$a} || $a cmp $b } keys %condition;
print "condition $condition{$_} $_\n" for @by_use;
for my $name (sort keys %macro) {
    my $m = $macro{$name};
    my $under = join '|', sort @{$m->{under} // []};
    my @known = map { $m->{$_} // 0 } qw(defined asked compared uses value);
    print join("\t", "macro $name", @known, length $under), "\n";
}
for my $name (sort keys %guarded_by) {
    my @places = @{$guarded_by{$name}};
    print "include $name ", scalar @places, ' ', join(' ', map { scalar @$_ } @places), "\n";
}
print "%!PS\n/Helvetica 6 selectfont\n", map { "$_\n" } @graph;
