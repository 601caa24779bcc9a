<?php foreach ($articles as $article): ?>
<article>
  <h2><a href="/articles/<?= $article->id ?>"><?= $e($article->title) ?></a></h2>
  <p><?= gmdate('j F Y', $article->day * 86400) ?>, <?= $e($article->author) ?>: <?= $e(substr($article->text, 0, 200)) ?>…</p>
  <p><?= $e(implode(', ', $article->tags)) ?></p>
</article>
<?php endforeach ?>
<aside><?php foreach ($tags as $tag => $count): ?>
<span class="size-<?= min(9, $count) ?>"><?= $e($tag) ?></span>
<?php endforeach ?></aside>
