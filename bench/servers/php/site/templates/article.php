<p class="by"><?= $e($article->author) ?>, <?= gmdate('j F Y', $article->day * 86400) ?></p>
<?= $html ?>
<h2>Comments</h2>
<?= Template::fill('comments', ['replies' => $replies, 'parent' => 0]) ?>
